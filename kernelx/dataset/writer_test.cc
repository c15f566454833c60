// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernelx/dataset/builder.h"
#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/test_files.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

Row SeedRow() {
  Row row;
  row.state = {0, 120, 120, 120, 18.675394370629025, 28.25, 1.75, 2, 3, 13};
  row.next_state = {1, 120, 120, 120, 18.5, 28.25, 1.75, 2, 6, 67};
  row.action = 0.055299;
  row.reward = -54;
  row.pid = 16310;
  row.cpu = 1;
  row.timestamp_ns = 5478348681503;
  return row;
}

TEST(AppendProcessed, WritesTheSeedsKeysBare) {
  std::string text;
  AppendProcessed(SeedRow(), 0, text);
  EXPECT_EQ(text,
            "{\"state\":[0,120,120,120,18.675394370629025,28.25,1.75,2,3,13],\"action\":0.055299,"
            "\"reward\":-54,\"next_state\":[1,120,120,120,18.5,28.25,1.75,2,6,67],\"pid\":16310,"
            "\"cpu\":1,\"timestamp\":5478348681503}\n");
}

TEST(AppendProcessed, DoublesReadBackToTheSameBits) {
  // Corners, then bit patterns at random.
  std::vector<double> values = {0.0,
                                -0.0,
                                1e15,
                                -1e15,
                                999999999999999.9,
                                9007199254740993.0,
                                1e20,
                                98765432109876543488.0,
                                18446744073709551616.0,
                                1e-5,
                                1e22,
                                1e23,
                                5e-324,
                                2.2250738585072014e-308,
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::lowest(),
                                std::nextafter(1.0, 2.0)};
  Rng rng(7);
  while (values.size() < 100000) {
    const auto value = std::bit_cast<double>(rng.Bits());
    if (std::isfinite(value)) values.push_back(value);
  }
  std::string text;
  for (size_t i = 0; i + 10 <= values.size(); i += 10) {
    Row row = SeedRow();
    row.state.assign(values.begin() + i, values.begin() + i + 10);
    row.next_state = row.state;
    row.action = row.state[3];
    AppendProcessed(row, 0, text);
  }
  const TempFolder folder;
  const Dataset data = LoadDataset(folder.Write("a.jsonl", text), {.use_cache = false});
  ASSERT_EQ(data.states().size(), values.size());
  EXPECT_EQ(std::memcmp(data.states().data(), values.data(), values.size() * sizeof(double)), 0);
  // and by another parser
  const auto first = nlohmann::json::parse(text.substr(0, text.find('\n')));
  for (size_t f = 0; f < 10; ++f) {
    EXPECT_EQ(std::bit_cast<uint64_t>(first["state"][f].get<double>()),
              std::bit_cast<uint64_t>(values[f]));
  }
}

TEST(AppendProcessed, NamesAreEscaped) {
  Row row = SeedRow();
  row.comm = "a\"b\\c\n\x01é";
  std::string text;
  AppendProcessed(row, 0, text);
  EXPECT_EQ(nlohmann::json::parse(text)["comm"], row.comm);
}

TEST(ProcessedWriter, RoundTripsRealRowsBitForBit) {
  const TempFolder folder;
  const auto raw = ReadRaw(KERNELX_DATA_DIR "/observational.jsonl.xz");
  std::vector<Row> rows;
  for (size_t i = 0; i < 10000; ++i) {
    const RawTransition& from = raw[i];
    Row row = SeedRow();
    for (size_t f = 0; f < 10; ++f) {
      row.state[f] = std::log1p(static_cast<double>(from.state.features[f + 4]));
      row.next_state[f] = std::log1p(static_cast<double>(from.next.features[f + 4]));
    }
    row.action = from.action;
    row.reward = static_cast<double>(from.reward);
    row.pid = from.state.pid;
    row.timestamp_ns = from.state.timestamp_ns;
    row.next_timestamp_ns = from.next.timestamp_ns;
    row.start_ns = from.state.features[kSlotStartNs];
    row.delta.vruntime_ns = static_cast<int64_t>(from.next.features[kSlotVruntimeNs] -
                                                 from.state.features[kSlotVruntimeNs]);
    row.behavior = from.behavior;
    row.applied = from.applied;
    row.comm = from.comm;
    rows.push_back(row);
  }
  const uint32_t columns = ColumnBits(Column::kNextTimestamp, Column::kStart, Column::kDelta);
  const std::string path = folder.File("rows.jsonl.zst");
  ProcessedWriter writer(path, columns);
  for (size_t i = 0; i < 5000; ++i) writer.Append(rows[i]);
  writer.AppendText(FormatProcessed(std::span(rows).subspan(5000), columns));
  writer.Commit();
  const Dataset data = LoadDataset(path, {.use_cache = false});
  ASSERT_EQ(data.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row back = RowAt(data, i);
    ASSERT_EQ(std::memcmp(back.state.data(), rows[i].state.data(), 80), 0);
    ASSERT_EQ(std::memcmp(back.next_state.data(), rows[i].next_state.data(), 80), 0);
    ASSERT_EQ(back.next_timestamp_ns, rows[i].next_timestamp_ns);
    ASSERT_EQ(back.start_ns, rows[i].start_ns);
    ASSERT_EQ(back.delta, rows[i].delta);
    ASSERT_EQ(back.applied.slice_ns, rows[i].applied.slice_ns);
    ASSERT_EQ(back.behavior.window, rows[i].behavior.window);
    ASSERT_EQ(back.comm, rows[i].comm);
  }
}

TEST(TextWriter, AFullDiskLeavesNothingBehind) {
  const TempFolder folder;
  // A limit on file size stands in for a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 100000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = ErrorOf([&] {
    RawWriter writer(folder.File("a.jsonl"));
    writer.AppendText(std::string(3000000, 'x'));
    writer.Commit();
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(error.starts_with(folder.File("a.jsonl") + ": cannot write: ")) << error;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TextWriter, WithoutCommitNothingAppears) {
  const TempFolder folder;
  for (const char* name : {"a", "a.gz", "a.xz", "a.zst"}) {
    TextWriter writer(folder.File(name));
    writer.Write("text\n");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace kernelx
