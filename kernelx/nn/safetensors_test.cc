// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "kernelx/ground/error.h"
#include "kernelx/nn/mlp_file.h"

namespace kernelx {
namespace {

std::string File(const std::string& header, const std::string& data = "") {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

/// The message of the refusal, "" when the file is accepted.
std::string Refusal(const std::string& bytes) {
  try {
    (void)Safetensors::Parse(bytes, "x.safetensors");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kBadInput);
    EXPECT_TRUE(std::string(e.what()).starts_with("x.safetensors: ")) << e.what();
    return e.what();
  }
  return "";
}

std::string Floats(std::vector<float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}

TEST(Safetensors, RoundTripsBitForBit) {
  Safetensors file;
  const std::vector<float> a = {1.0F / 3.0F, -0.0F, 1e-45F, 3.4e38F, 0.1F, 7.0F};
  const std::vector<double> b = {1.0 / 3.0, -1e308};
  file.Add("a", {2, 3}, std::span<const float>(a));
  file.Add("z.b", {2}, std::span<const double>(b));
  file.Add("scalar", {}, std::span<const float>(a.data(), 1));
  file.Add("empty", {0, 4}, std::span<const float>());
  file.metadata = {{"note", "line\nbreak \"quoted\""}, {"update", "12"}};
  const std::string bytes = file.Serialise();

  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0U);
  EXPECT_EQ(bytes[8], '{');
  const Safetensors back = Safetensors::Parse(bytes, "x");
  EXPECT_EQ(back.metadata, file.metadata);
  EXPECT_EQ(std::memcmp(back.Float("a", {2, 3}).data(), a.data(), 24), 0);
  EXPECT_EQ(back.Double("z.b", {2}), b);
  EXPECT_EQ(back.names(), (std::vector<std::string>{"a", "empty", "scalar", "z.b"}));
  EXPECT_EQ(back.Serialise(), bytes);
}

TEST(Safetensors, ReadsAFileWrittenByHand) {
  const auto file = Safetensors::Parse(
      File(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )", Floats({1.5F, -2.0F})),
      "x");
  EXPECT_EQ(file.Float("t", {2}), (std::vector<float>{1.5F, -2.0F}));
  EXPECT_EQ(Refusal(File("{}")), "");
}

TEST(Safetensors, RefusesWhatTheFormatForbids) {
  const std::string good = R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string data = Floats({1, 2});
  ASSERT_EQ(Refusal(File(good, data)), "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return File(text, data);
  };
  const std::pair<std::string, const char*> bad[] = {
      {"", "only 0 bytes"},
      {"1234567", "only 7 bytes"},
      {File(good, data).substr(0, 20), "cut short"},
      {std::string(8, '\xff') + "{}", "cut short"},
      {File(good, data.substr(0, 7)), "cut"},
      {File(good, data + "x"), "1 bytes after"},
      {File(" " + good, data), "begin with '{'"},
      {File("{\"t\":", data), "not JSON"},
      {with("\"F32\"", "\"F16\""), "F16"},
      {with("\"F32\"", "\"F64\""), "takes 16"},
      {with("[2]", "[3]"), "takes 12"},
      {with("[2]", "[-2]"), "-2"},
      {with("[2]", "[2.0]"), "2.0"},
      {with("[2]", "2"), "exactly dtype"},
      {with("[2]", "[4611686018427387906]"), "overflows"},
      {with("[0,8]", "[8,0]"), "8 to 0"},
      {with("[0,8]", "[0,8,9]"), "exactly dtype"},
      {with("[0,8]}", "[0,8],\"more\":1}"), "exactly dtype"},
      {with("data_offsets", "offsets"), "exactly dtype"},
      {with("\"dtype\":\"F32\"", "\"shape\":[2]"), "stands twice"},
      {File(R"({"__metadata__":{"k":1}})"), "not a string"},
      {File(R"({"__metadata__":[]})"), "not an object"},
      {File(R"({"__metadata__":{"k":"1","k":"2"}})"), "stands twice"},
      {File(good, Floats({1, NAN})), "not finite"},
      {File(good, Floats({INFINITY, 1})), "not finite"},
      {File(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
            data),
       "overlap"},
      {File(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", data), "hole"},
      {File("{\"a\":" + std::string(100'000, '[')), "8 levels"},
  };
  for (const auto& [bytes, why] : bad) {
    EXPECT_NE(Refusal(bytes).find(why), std::string::npos) << why << " in: " << Refusal(bytes);
  }
}

TEST(Safetensors, EveryTruncationIsRefused) {
  Safetensors file;
  file.Add("t", {2}, std::vector<float>{1, 2});
  file.metadata = {{"k", "v"}};
  const std::string bytes = file.Serialise();
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_NE(Refusal(bytes.substr(0, n)), "") << n;
}

TEST(Safetensors, AddRefusesNonsense) {
  Safetensors file;
  file.Add("t", {2}, std::vector<float>{1, 2});
  EXPECT_THROW(file.Add("t", {2}, std::vector<float>{1, 2}), Error);
  EXPECT_THROW(file.Add("u", {3}, std::vector<float>{1, 2}), Error);
  EXPECT_THROW(file.Add("v", {1}, std::vector<double>{NAN}), Error);
}

TEST(Safetensors, AskingForWhatIsNotThereNamesIt) {
  Safetensors file;
  file.Add("t", {2}, std::vector<float>{1, 2});
  EXPECT_THROW((void)file.Float("u", {2}), Error);
  EXPECT_THROW((void)file.Float("t", {1, 2}), Error);
  EXPECT_THROW((void)file.Double("t", {2}), Error);
  EXPECT_THROW((void)file.Meta("k"), Error);
}

TEST(MlpFile, WeightsAreOutByInAndComeBack) {
  Mlp<float> net({3, 5, 2}, Activation::kTanh);
  Rng rng(4);
  net.Initialise(rng);
  Safetensors file;
  AddMlpTensors(file, "policy", net, net.parameters());
  EXPECT_EQ(file.ShapeOf("policy.l0.weight"), (Safetensors::Shape{5, 3}));
  EXPECT_EQ(file.ShapeOf("policy.l1.bias"), (Safetensors::Shape{2}));
  const std::string path = testing::TempDir() + "kernelx_mlp_test.safetensors";
  file.Save(path);
  const Mlp<float> back = ReadMlp(Safetensors::Load(path), "policy", Activation::kTanh);
  std::filesystem::remove(path);
  EXPECT_EQ(back.sizes(), net.sizes());
  EXPECT_TRUE(std::ranges::equal(back.parameters(), net.parameters()));
  EXPECT_THROW((void)ReadMlp(file, "other", Activation::kTanh), Error);
}

}  // namespace
}  // namespace kernelx
