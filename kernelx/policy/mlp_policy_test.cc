// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/policy/mlp_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "kernelx/ground/error.h"
#include "kernelx/nn/mlp_file.h"
#include "kernelx/nn/safetensors.h"
#include "kernelx/policy/registry.h"

namespace kernelx {
namespace {

const std::vector<std::string> kNames = {"a", "b", "c", "d"};

MlpPolicy SmallPolicy(uint64_t seed = 1) {
  Rng rng(seed);
  MlpPolicy policy({.features = {"c", "a"}}, {16, 16}, rng);
  // The initial output is all but constant; a larger last layer makes the tests sharp.
  policy.mutable_net().Modify([](std::span<float> p) {
    for (float& x : p) x *= 3.0F;
  });
  policy.Bind(kNames);
  return policy;
}

class PolicyFile : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "kernelx_policy_test.safetensors";
  ~PolicyFile() override { std::filesystem::remove(path_); }
};

TEST(MlpPolicy, ReadsOnlyItsFeatures) {
  const MlpPolicy policy = SmallPolicy();
  const ActionLaw law = policy.Law(std::vector<double>{0.5, 9.0, -0.25, 7.0});
  EXPECT_EQ(law.kind, ActionLaw::Kind::kTanhGaussian);
  const ActionLaw same = policy.Law(std::vector<double>{0.5, -1.0, -0.25, 0.0});
  EXPECT_EQ(law.center, same.center);
  const ActionLaw other = policy.Law(std::vector<double>{0.6, 9.0, -0.25, 7.0});
  EXPECT_NE(law.center, other.center);
}

TEST(MlpPolicy, BindNamesEveryMissingFeature) {
  MlpPolicy policy = SmallPolicy();
  const std::vector<std::string> names = {"b", "x"};
  try {
    policy.Bind(names);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kBadInput);
    EXPECT_NE(std::string(e.what()).find("c, a"), std::string::npos) << e.what();
  }
}

TEST(MlpPolicy, NormalisesAndClips) {
  MlpPolicy policy = SmallPolicy();
  // Column c: 1, 3 (mean 2, sd 1); column a: constant, so the floor holds.
  policy.FitNormaliser(std::vector<double>{5, 0, 1, 0, 5, 0, 3, 0}, 4);
  EXPECT_EQ(policy.spec().mean, (std::vector<double>{2, 5}));
  EXPECT_EQ(policy.spec().std, (std::vector<double>{1, MlpPolicy::kStdFloor}));
  std::vector<float> inputs(2);
  EXPECT_TRUE(policy.Encode(std::vector<double>{6, 0, 2.5, 0}, inputs));
  EXPECT_EQ(inputs, (std::vector<float>{0.5F, 10.0F}));
  EXPECT_THROW(policy.FitNormaliser(std::vector<double>{5, 0, NAN, 0}, 4), Error);
}

TEST(MlpPolicy, NonsenseFallsBackToZeroAndIsCounted) {
  const MlpPolicy policy = SmallPolicy();
  const double inf = std::numeric_limits<double>::infinity();
  uint64_t bad = 0;
  for (const double x : {std::nan(""), inf, -inf, 1e30, -1e30}) {
    const ActionLaw law = policy.Law(std::vector<double>{0.0, 0.0, x, 0.0});
    EXPECT_EQ(law.kind, ActionLaw::Kind::kPoint);
    EXPECT_EQ(law.Median(), 0.0);
    EXPECT_EQ(policy.fallbacks(), ++bad);
  }
  (void)policy.Law(std::vector<double>{0.0, std::nan(""), 0x1p64, 0.0});  // b is not read
  EXPECT_EQ(policy.fallbacks(), bad);
}

TEST(MlpPolicy, FuzzedStatesGiveActionsInRange) {
  const MlpPolicy policy = SmallPolicy();
  Rng rng(11);
  std::vector<double> state(4);
  for (int i = 0; i < 1'000'000; ++i) {
    for (double& x : state) x = std::bit_cast<double>(rng.Bits());
    if (i % 2 == 0) state[0] = rng.Normal(), state[2] = 1e4 * rng.Normal();
    const ActionLaw law = policy.Law(state);
    const double action = law.Median();
    ASSERT_TRUE(action >= -1.0 && action <= 1.0);
  }
}

TEST(MlpPolicy, TemperatureScalesTheDeployedLaw) {
  MlpPolicy policy = SmallPolicy();
  const std::vector<double> state = {0.5, 0, -0.25, 0};
  const ActionLaw law = policy.Law(state);
  policy.mutable_spec().temperature = 0.5;
  EXPECT_NEAR(policy.Law(state).log_std, law.log_std + std::log(0.5), 1e-12);
  policy.mutable_spec().temperature = 0.0;
  EXPECT_EQ(policy.Law(state).kind, ActionLaw::Kind::kPoint);
  EXPECT_EQ(policy.Law(state).Median(), law.Median());
}

TEST(MlpPolicy, RefusesASpecThatContradictsItself) {
  Rng rng(1);
  EXPECT_THROW(MlpPolicy({.features = {"a"}, .std = {0.0}}, {4}, rng), Error);
  EXPECT_THROW(MlpPolicy({.features = {"a"}, .mean = {0.0, 1.0}}, {4}, rng), Error);
  EXPECT_THROW(MlpPolicy({.features = {"a"}}, Mlp<float>({2, 2}, Activation::kTanh)), Error);
  EXPECT_THROW(MlpPolicy({.features = {"a"}, .temperature = NAN}, {4}, rng), Error);
  EXPECT_THROW(MlpPolicy({.features = {"a"}}, {4096}, rng), Error);
}

TEST_F(PolicyFile, RoundTripsBitForBit) {
  MlpPolicy policy = SmallPolicy();
  policy.FitNormaliser(std::vector<double>{5, 0, 1, 0, 4, 0, 3, 0, 0.1, 0, 0.3, 0}, 4);
  MlpPolicySpec& spec = policy.mutable_spec();
  spec.feature_set = R"({"features": ["a"]})";
  spec.reward = "balanced";
  spec.hold = 5;
  spec.temperature = 1.0 / 3.0;
  spec.provenance = {{"seed", "7"}, {"note", "näher \"so\"\n"}};
  policy.Save(path_);

  MlpPolicy back = MlpPolicy::Load(path_);
  EXPECT_EQ(back.spec().features, spec.features);
  EXPECT_EQ(back.spec().mean, spec.mean);
  EXPECT_EQ(back.spec().std, spec.std);
  EXPECT_EQ(back.spec().feature_set, spec.feature_set);
  EXPECT_EQ(back.spec().reward, "balanced");
  EXPECT_EQ(back.spec().hold, 5);
  EXPECT_EQ(back.spec().temperature, spec.temperature);
  EXPECT_EQ(back.spec().provenance, spec.provenance);
  EXPECT_TRUE(std::ranges::equal(back.net().parameters(), policy.net().parameters()));
  const auto made = MakePolicy(path_);
  made->Bind(kNames);
  const std::vector<double> state = {0.5, 0, -0.25, 0};
  EXPECT_EQ(made->Law(state).center, policy.Law(state).center);
}

TEST_F(PolicyFile, LoadNamesWhatIsMissing) {
  const auto message = [&] {
    try {
      (void)MlpPolicy::Load(path_);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kBadInput);
      return std::string(e.what());
    }
    return std::string();
  };
  SmallPolicy().Save(path_);
  const Safetensors whole = Safetensors::Load(path_);
  Safetensors cut = whole;
  cut.metadata.erase("features");
  cut.Save(path_);
  EXPECT_NE(message().find("metadata 'features' is missing"), std::string::npos) << message();
  cut = whole;
  cut.metadata["features"] = R"(["c", "a", "d"])";
  cut.Save(path_);
  EXPECT_NE(message().find("norm.mean"), std::string::npos) << message();
  cut = whole;
  cut.metadata["features"] = "nonsense";
  cut.Save(path_);
  EXPECT_NE(message().find("nonsense"), std::string::npos) << message();
  cut = whole;
  cut.metadata["format"] = "other";
  cut.Save(path_);
  EXPECT_NE(message().find("'other'"), std::string::npos) << message();
  EXPECT_THROW((void)MlpPolicy::Load(path_ + ".not.there"), Error);
}

}  // namespace
}  // namespace kernelx
