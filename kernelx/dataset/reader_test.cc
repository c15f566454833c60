// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/reader.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernelx/dataset/builder.h"
#include "kernelx/dataset/byte_source.h"
#include "kernelx/dataset/test_files.h"
#include "kernelx/dataset/writer.h"

namespace kernelx {
namespace {

const ReadOptions kNoCache{.use_cache = false};

/// The first `bytes` of a bundled recording, as recorded.
std::string RecordedText(const std::string& name, size_t bytes) {
  std::string text(bytes, '\0');
  text.resize(ByteSource::Open(KERNELX_DATA_DIR "/" + name)->Read(text.data(), bytes));
  return text.substr(0, text.rfind('\n') + 1);
}

/// The first rows of a bundled recording, as we write them.
std::string RecordingHead(size_t rows) {
  static const std::vector<RawTransition> all = [] {
    const TempFolder folder;
    return ReadRaw(folder.Write("head", RecordedText("observational.jsonl.xz", 8'000'000)));
  }();
  return FormatRaw(std::span(all).first(rows));
}

TEST(ReadRaw, FillsEveryField) {
  const TempFolder folder;
  const auto rows = ReadRaw(folder.Write("data.jsonl", RawLine()));
  ASSERT_EQ(rows.size(), 1U);
  const RawTransition& row = rows[0];
  for (int slot = 0; slot < kRawFeatures; ++slot) {
    EXPECT_EQ(row.state.features[slot], 1000U + slot);
    EXPECT_EQ(row.next.features[slot], 2000U + slot);
  }
  EXPECT_EQ(row.state.timestamp_ns, 5000000001U);
  EXPECT_EQ(row.next.timestamp_ns, 5000000999U);
  EXPECT_EQ(row.state.pid, 77);
  EXPECT_EQ(row.state.cpu, 1);
  EXPECT_EQ(row.action, 0.25);
  EXPECT_EQ(row.reward, -1000);
  EXPECT_TRUE(row.behavior.known);
  EXPECT_TRUE(row.behavior.drawn);
  EXPECT_EQ(row.behavior.mode, DrawMode::kGroup);
  EXPECT_EQ(row.behavior.window, 3U);
  EXPECT_EQ(row.behavior.p_draw, 0.1);
  EXPECT_EQ(row.behavior.p_zero, 0.15);
  EXPECT_TRUE(row.applied.known);
  EXPECT_TRUE(row.applied.in_force);
  EXPECT_EQ(row.applied.nice, -3);
  EXPECT_EQ(row.applied.slice_ns, 1621760U);
  EXPECT_EQ(row.applied.at_ns, 5000000500U);
  EXPECT_EQ(row.comm, "periodic");
}

TEST(ReadRaw, SeedFormHasNoExtrasAndUnknownKeysAreIgnored) {
  const TempFolder folder;
  std::string line = RawLine();
  line = line.substr(0, line.find(",\"behavior\"")) + ",\"later\":{\"a\":[1,2],\"a\":3}}";
  const auto rows = ReadRaw(folder.Write("data.jsonl", line + "\n" + RawLine() + "\n" + line));
  ASSERT_EQ(rows.size(), 3U);
  for (const int i : {0, 2}) {  // nothing is left over from the row before
    EXPECT_FALSE(rows[i].behavior.known);
    EXPECT_FALSE(rows[i].behavior.drawn);
    EXPECT_FALSE(rows[i].applied.known);
    EXPECT_EQ(rows[i].comm, "");
  }
}

TEST(ReadRaw, CountersAreExactTo64Bits) {
  const TempFolder folder;
  std::string line = Replace(RawLine(), "1004", "9007199254740993");  // 2^53 + 1
  line = Replace(line, "1005", "18446744073709551615");
  line = Replace(line, "2005", "9223372036854775808");
  line = Replace(line, "-1000", "-9223372036854775808");
  line = Replace(line, "5000000999", "18446744073709551615");
  const auto rows = ReadRaw(folder.Write("data.jsonl", line));
  EXPECT_EQ(rows[0].state.features[4], 9007199254740993U);
  EXPECT_EQ(rows[0].state.features[5], 18446744073709551615U);
  EXPECT_EQ(rows[0].next.features[5], 9223372036854775808U);
  EXPECT_EQ(rows[0].reward, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(rows[0].next.timestamp_ns, 18446744073709551615U);
  EXPECT_EQ(FormatRaw(rows), line + "\n");
}

TEST(ReadRaw, ActionsOutsideTheRangeAndTimesRunningBackwardsAreData) {
  const TempFolder folder;
  std::string line = Replace(RawLine(), "0.25", "-1.0000001");
  line = Replace(line, "5000000999", "4000000000");
  const auto rows = ReadRaw(folder.Write("data.jsonl", line + "\n" + line));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].action, -1.0000001);
}

TEST(ReadRaw, TenThousandRecordedRowsRoundTrip) {
  // The recorder's own text against ours, compared by an independent parser.
  std::istringstream recorded(RecordedText("observational.jsonl.xz", 8'000'000));
  std::istringstream ours(RecordingHead(10000));
  std::string recorded_line;
  std::string our_line;
  size_t rows = 0;
  for (; std::getline(ours, our_line); ++rows) {
    ASSERT_TRUE(std::getline(recorded, recorded_line));
    ASSERT_EQ(nlohmann::json::parse(our_line), nlohmann::json::parse(recorded_line));
  }
  EXPECT_EQ(rows, 10000U);
}

TEST(ReadRaw, ChunksComeInOrderWhateverTheThreads) {
  const TempFolder folder;
  const std::string text = RecordingHead(12000);  // 6.9 MB: seven chunks
  const std::string path = folder.Write("data.jsonl", text);
  std::vector<size_t> sizes;
  for (const unsigned threads : {1U, 2U, 3U, 8U}) {
    std::vector<size_t> these;
    std::string copy;
    ReadRawChunks(path, {.threads = threads}, [&](std::span<RawTransition> rows) {
      these.push_back(rows.size());
      copy += FormatRaw(rows);
    });
    EXPECT_TRUE(copy == text) << threads;
    EXPECT_GT(these.size(), 5U);
    if (sizes.empty()) sizes = these;
    EXPECT_EQ(these, sizes) << threads;
  }
}

TEST(ReadRaw, AnErrorOfTheCallerEndsTheReading) {
  const TempFolder folder;
  const std::string path = folder.Write("data.jsonl", RecordingHead(12000));
  for (const unsigned threads : {1U, 3U}) {
    int calls = 0;
    EXPECT_THROW(ReadRawChunks(path, {.threads = threads},
                               [&](std::span<RawTransition>) {
                                 if (++calls == 2) throw std::runtime_error("enough");
                               }),
                 std::runtime_error);
    EXPECT_EQ(calls, 2);
  }
}

TEST(ReadCompressed, EveryFormGivesTheSameRows) {
  const TempFolder folder;
  const std::string text = RecordingHead(5000);
  for (const char* suffix : {"", ".gz", ".xz", ".zst"}) {
    // The suffix only matters to the writer: read under another name.
    const std::string path = folder.File(std::string("data.jsonl") + suffix);
    TextWriter writer(path);
    for (size_t at = 0; at < text.size(); at += 777777) {
      writer.Write(std::string_view(text).substr(at, 777777));
    }
    writer.Commit();
    if (*suffix != '\0') {
      EXPECT_LT(std::filesystem::file_size(path), text.size() / 4) << suffix;
    }
    const std::string odd = folder.File("odd-name");
    std::filesystem::rename(path, odd);
    EXPECT_TRUE(FormatRaw(ReadRaw(odd, {.threads = 2})) == text) << suffix;
  }
}

TEST(ReadCompressed, ConcatenatedStreamsAreOne) {
  const TempFolder folder;
  const std::string first = RecordingHead(700);
  const std::string second = RawLine() + "\n";
  for (const char* suffix : {".gz", ".xz", ".zst"}) {
    std::string both;
    for (const auto& part : {first, second}) {
      const std::string path = folder.File(std::string("part") + suffix);
      TextWriter writer(path);
      writer.Write(part);
      writer.Commit();
      both += ReadText(path);
    }
    EXPECT_EQ(ReadRaw(folder.Write("both", both)).size(), 701U) << suffix;
  }
}

TEST(ReadCompressed, CutShortOrDamagedIsAnErrorAlsoInQuarantine) {
  const TempFolder folder;
  const std::string text = RecordingHead(3000);
  for (const auto& [suffix, form] :
       {std::pair{".gz", "gzip"}, std::pair{".xz", "xz"}, std::pair{".zst", "zstd"}}) {
    const std::string path = folder.File(std::string("whole") + suffix);
    TextWriter writer(path);
    writer.Write(text);
    writer.Commit();
    const std::string bytes = ReadText(path);
    for (const size_t kept : {size_t{7}, size_t{40}, bytes.size() / 2, bytes.size() - 1}) {
      const std::string cut = folder.Write("cut", std::string_view(bytes).substr(0, kept));
      Quarantine quarantine(folder.File("aside"));
      const std::string error = ErrorOf([&] { ReadRaw(cut, {.quarantine = &quarantine}); });
      EXPECT_TRUE(error.starts_with(cut + ": the " + form + " stream is cut short"))
          << kept << " " << error;
    }
    std::string damaged = bytes;
    for (size_t i = 0; i < 8; ++i) damaged[bytes.size() / 2 + i] ^= 0x55;
    const std::string path_damaged = folder.Write("damaged", damaged);
    // What decodes before the checksum is reached may be bad lines: set aside, then the error.
    Quarantine quarantine(folder.File("aside"));
    const std::string error = ErrorOf([&] { ReadRaw(path_damaged, {.quarantine = &quarantine}); });
    EXPECT_NE(error.find(std::string("the ") + form + " stream"), std::string::npos) << error;
    const std::string followed = folder.Write("followed", bytes + "garbage beyond the end");
    EXPECT_NE(ErrorOf([&] { ReadRaw(followed); }).find(form), std::string::npos) << suffix;
  }
}

TEST(LoadDataset, SeedFileKeepsItsValuesAndSaysWhatIsMissing) {
  const TempFolder folder;
  const Dataset data = LoadDataset(folder.Write("a.jsonl", SeedLine()), kNoCache);
  ASSERT_EQ(data.size(), 1U);
  EXPECT_EQ(data.feature_names(), SeedFeatureNames());
  EXPECT_EQ(data.state(0)[4], 18.5);
  EXPECT_EQ(data.next_state(0)[9], 67.0);
  EXPECT_EQ(data.action()[0], 0.055299);
  EXPECT_EQ(data.reward()[0], -54.0);
  EXPECT_EQ(data.pid()[0], 16310);
  EXPECT_EQ(data.cpu()[0], 0);
  EXPECT_EQ(data.timestamp_ns()[0], 5478348681503U);
  for (const Column column : {Column::kNextTimestamp, Column::kDelta, Column::kBehavior,
                              Column::kApplied, Column::kComm, Column::kStart}) {
    EXPECT_FALSE(data.has(column));
  }
  EXPECT_TRUE(data.next_timestamp_ns().empty());
  EXPECT_TRUE(data.start_ns().empty());
  EXPECT_TRUE(data.behavior().empty());
  EXPECT_TRUE(data.comm().empty());
  EXPECT_EQ(data.digest().size(), 16U);
}

TEST(LoadDataset, EveryOptionalKeyIsRead) {
  const TempFolder folder;
  const Dataset data = LoadDataset(folder.Write("a.jsonl", FullLine()), kNoCache);
  for (const Column column : {Column::kNextTimestamp, Column::kDelta, Column::kBehavior,
                              Column::kApplied, Column::kComm, Column::kStart}) {
    EXPECT_TRUE(data.has(column));
  }
  EXPECT_EQ(data.next_timestamp_ns()[0], 5478351232168U);
  EXPECT_EQ(data.start_ns()[0], 5475031629559U);
  EXPECT_EQ(data.delta()[0], (Delta{.exec_ns = 147616,
                                    .vruntime_ns = -83104,
                                    .wait_us = 13,
                                    .next_wait_us = 67,
                                    .voluntary = 1,
                                    .involuntary = 0,
                                    .sleep_us = 2343}));
  EXPECT_EQ(data.behavior()[0].window, 5U);
  EXPECT_EQ(data.behavior()[0].mode, DrawMode::kTask);
  EXPECT_EQ(data.applied()[0].at_ns, 5478351852341U);
  EXPECT_EQ(data.comm_names()[data.comm()[0]], "periodic");
}

TEST(LoadDataset, RowsOfTheReferenceVectorsComeBackBitForBit) {
  // The oracle: rows computed by an independent program, read by an independent parser.
  const auto rows =
      nlohmann::json::parse(ReadText(KERNELX_TESTDATA_DIR "/seed-vectors.json"))["rows"];
  std::string text;
  for (const auto& row : rows) text += row.dump() + "\n";
  const TempFolder folder;
  const Dataset data = LoadDataset(folder.Write("a.jsonl", text), kNoCache);
  ASSERT_EQ(data.size(), 200U);
  // Where the recording has them, the exact differences the recovered ones must equal.
  const auto raw =
      ReadRaw(folder.Write("raw.jsonl", RecordedText("interventional-a.jsonl.xz", 200'000)));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t f = 0; f < 10; ++f) {
      ASSERT_EQ(std::bit_cast<uint64_t>(data.state(i)[f]),
                std::bit_cast<uint64_t>(rows[i]["state"][f].get<double>()));
      ASSERT_EQ(std::bit_cast<uint64_t>(data.next_state(i)[f]),
                std::bit_cast<uint64_t>(rows[i]["next_state"][f].get<double>()));
    }
    ASSERT_EQ(data.action()[i], rows[i]["action"].get<double>());
    ASSERT_EQ(data.reward()[i], rows[i]["reward"].get<double>());
    ASSERT_EQ(data.pid()[i], rows[i]["pid"].get<int>());
    ASSERT_EQ(data.timestamp_ns()[i], rows[i]["timestamp"].get<uint64_t>());
    const auto& now = raw[i].state.features;
    const auto& next = raw[i].next.features;
    ASSERT_EQ(data.delta()[i].exec_ns, next[kSlotExecNs] - now[kSlotExecNs]);
    ASSERT_EQ(data.delta()[i].vruntime_ns,
              static_cast<int64_t>(next[kSlotVruntimeNs] - now[kSlotVruntimeNs]));
    ASSERT_EQ(data.delta()[i].wait_us, now[kSlotWaitUs]);
    ASSERT_EQ(data.delta()[i].next_wait_us, next[kSlotWaitUs]);
  }
}

/// `n` full rows that differ from one another.
std::string ManyRows(size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) {
    Row row;
    for (size_t f = 0; f < 10; ++f) {
      row.state.push_back(std::sin(static_cast<double>(i * 10 + f)) * 1e3);
      row.next_state.push_back(std::log1p(static_cast<double>(i * 7 + f)));
    }
    row.action = std::cos(static_cast<double>(i));
    row.pid = static_cast<int32_t>(i % 97);
    row.timestamp_ns = 1000 * i;
    row.next_timestamp_ns = 1000 * i + 500;
    row.delta.exec_ns = i * i;
    row.comm = "c" + std::to_string(i * 31 % 57);
    AppendProcessed(row, ColumnBits(Column::kNextTimestamp, Column::kDelta), text);
  }
  return text;
}

std::string Formatted(const Dataset& data, uint32_t columns) {
  std::string text;
  for (size_t i = 0; i < data.size(); ++i) AppendProcessed(RowAt(data, i), columns, text);
  return text;
}

TEST(LoadDataset, DoesNotDependOnThreads) {
  const TempFolder folder;
  const std::string text = ManyRows(10000);
  const std::string path = folder.Write("a.jsonl", text);
  std::vector<std::string> names;
  for (const unsigned threads : {1U, 2U, 3U}) {
    const Dataset data = LoadDataset(path, {.threads = threads, .use_cache = false});
    EXPECT_TRUE(Formatted(data, ColumnBits(Column::kNextTimestamp, Column::kDelta)) == text)
        << threads;
    if (names.empty()) names = data.comm_names();
    EXPECT_EQ(data.comm_names(), names);
    EXPECT_EQ(names.size(), 57U);
  }
}

TEST(LoadDataset, FolderJoinsItsSplits) {
  const TempFolder folder;
  const std::string text = ManyRows(30);
  const size_t cut = text.find("\"timestamp\":20000");
  const size_t line = text.rfind('\n', cut) + 1;
  folder.Write("train.jsonl", text.substr(0, line));
  folder.Write("val.jsonl", "");
  folder.Write("test.jsonl", text.substr(line));
  ReadReport report;
  const Dataset data = LoadDataset(folder.path(), {}, &report);
  EXPECT_EQ(data.size(), 30U);
  EXPECT_EQ(report.rows, 30U);
  EXPECT_TRUE(Formatted(data, ColumnBits(Column::kNextTimestamp, Column::kDelta)) == text);
  EXPECT_EQ(LoadDataset(folder.path()).digest(), data.digest());  // from the caches
  folder.Write("train.jsonl", "");
  folder.Write("test.jsonl", "\n");
  EXPECT_TRUE(
      ErrorOf([&] { LoadDataset(folder.path()); }).starts_with(folder.path() + ": no rows"));
}

TEST(LoadDataset, SidecarNamesTheFeatures) {
  const TempFolder folder;
  const std::string line =
      Replace(Replace(SeedLine(), "[0.0, ", "[1.5, 0.0, "), "[1.0, 120", "[2.5, 1.0, 120");
  const std::string path = folder.Write("a.jsonl", line);
  const std::string error = ErrorOf([&] { LoadDataset(path, kNoCache); });
  EXPECT_NE(error.find("`state` has 11 values where 10 belong; without a features.json"),
            std::string::npos)
      << error;
  folder.Write("features.json",
               R"({"feature_names":["own","b","c","d","e","f","g","h","i","j","k"],"x":1})");
  const Dataset data = LoadDataset(path, kNoCache);
  EXPECT_EQ(data.feature_count(), 11U);
  EXPECT_EQ(data.feature_names()[0], "own");
  EXPECT_EQ(data.state(0)[0], 1.5);
  EXPECT_TRUE(data.delta().empty());  // nothing to recover it from
  for (const char* bad : {"", "{}", "[]", R"({"feature_names":[1]})", R"({"feature_names":[]})"}) {
    folder.Write("features.json", bad);
    EXPECT_TRUE(ErrorOf([&] {
                  LoadDataset(path, kNoCache);
                }).starts_with(folder.File("features.json") + ": "))
        << bad;
  }
}

TEST(LoadDataset, KeysThatOnlySomeRowsCarryAreNamed) {
  const TempFolder folder;
  ReadReport report;
  const Dataset data =
      LoadDataset(folder.Write("a.jsonl", SeedLine() + "\n" + FullLine() + "\n" + SeedLine()),
                  kNoCache, &report);
  EXPECT_FALSE(data.has(Column::kNextTimestamp));
  EXPECT_FALSE(data.has(Column::kDelta));
  EXPECT_EQ(report.notes.size(), 3U);
  ASSERT_EQ(data.delta().size(), 3U);
  EXPECT_EQ(data.delta()[0].next_wait_us, 67U);    // recovered
  EXPECT_EQ(data.delta()[1].vruntime_ns, -83104);  // as the row says
  ASSERT_TRUE(data.has(Column::kBehavior));
  EXPECT_FALSE(data.behavior()[0].known);
  EXPECT_TRUE(data.behavior()[1].known);
  EXPECT_FALSE(data.behavior()[2].known);
  EXPECT_EQ(data.comm_names()[data.comm()[0]], "");
  EXPECT_EQ(data.comm_names()[data.comm()[1]], "periodic");
}

}  // namespace
}  // namespace kernelx
