// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <csignal>
#include <cstring>

#include "kernelx/dataset/builder.h"
#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/test_files.h"
#include "kernelx/dataset/writer.h"

namespace kernelx {
namespace {

constexpr uint32_t kAll = ColumnBits(Column::kNextTimestamp, Column::kStart, Column::kDelta);

std::string Text(const Dataset& data) {
  std::string text;
  for (size_t i = 0; i < data.size(); ++i) AppendProcessed(RowAt(data, i), kAll, text);
  return text;
}

class DatasetCacheTest : public ::testing::Test {
 protected:
  DatasetCacheTest() {
    std::string text;
    for (int i = 0; i < 200; ++i) {
      text += Replace(FullLine(), "\"pid\": 16310", "\"pid\": " + std::to_string(i)) + "\n";
    }
    source_ = folder_.Write("train.jsonl", text);
    cache_ = source_ + ".kxc";
  }

  /// Loads and says whether the cache served.
  bool FromCache(Dataset* data = nullptr) {
    ReadReport report;
    const Dataset loaded = LoadDataset(source_, {.threads = 2}, &report);
    EXPECT_EQ(loaded.size(), 200U);
    EXPECT_EQ(report.rows, 200U);
    if (data != nullptr) *data = loaded;
    return report.from_cache;
  }

  TempFolder folder_;
  std::string source_;
  std::string cache_;
};

TEST_F(DatasetCacheTest, SecondOpenIsMappedAndTheSame) {
  Dataset parsed;
  Dataset mapped;
  EXPECT_FALSE(FromCache(&parsed));
  EXPECT_TRUE(std::filesystem::exists(cache_));
  EXPECT_TRUE(FromCache(&mapped));
  EXPECT_EQ(Text(mapped), Text(parsed));
  EXPECT_EQ(mapped.digest(), parsed.digest());
  EXPECT_EQ(mapped.source(), parsed.source());
  EXPECT_EQ(mapped.comm_names(), parsed.comm_names());
  for (const Column column : {Column::kNextTimestamp, Column::kDelta, Column::kBehavior,
                              Column::kApplied, Column::kComm, Column::kStart}) {
    EXPECT_TRUE(mapped.has(column));
  }
  // The digest is that of the bytes on disk.
  const std::string bytes = ReadText(source_);
  EXPECT_EQ(mapped.digest(), HexDigest(XXH3_64bits(bytes.data(), bytes.size())));
  // A dataset outlives its files.
  std::filesystem::remove(cache_);
  EXPECT_EQ(Text(mapped), Text(parsed));
}

TEST_F(DatasetCacheTest, SeedFilesKeepTheirRecoveredDeltas) {
  source_ = folder_.Write("seed.jsonl", SeedLine());
  const Dataset parsed = LoadDataset(source_);
  ReadReport report;
  const Dataset mapped = LoadDataset(source_, {}, &report);
  EXPECT_TRUE(report.from_cache);
  EXPECT_FALSE(mapped.has(Column::kDelta));
  ASSERT_EQ(mapped.delta().size(), 1U);
  EXPECT_EQ(mapped.delta()[0], parsed.delta()[0]);
  EXPECT_TRUE(mapped.start_ns().empty());
}

TEST_F(DatasetCacheTest, AChangedSourceIsReadAgain) {
  FromCache();
  // One digit, same length, same time stamp of the file.
  const auto time = std::filesystem::last_write_time(source_);
  folder_.Write("train.jsonl", Replace(ReadText(source_), "\"cpu\": 0", "\"cpu\": 7"));
  std::filesystem::last_write_time(source_, time);
  Dataset data;
  EXPECT_FALSE(FromCache(&data));
  EXPECT_EQ(data.cpu()[0], 7);
  EXPECT_TRUE(FromCache(&data));  // written anew
  EXPECT_EQ(data.cpu()[0], 7);
}

TEST_F(DatasetCacheTest, AChangedSidecarIsReadAgain) {
  FromCache();
  folder_.Write("features.json", R"({"feature_names":["a","b","c","d","e","f","g","h","i","j"]})");
  Dataset data;
  EXPECT_FALSE(FromCache(&data));
  EXPECT_EQ(data.feature_names()[0], "a");
  EXPECT_TRUE(FromCache(&data));
  EXPECT_EQ(data.feature_names()[0], "a");
  folder_.Write("features.json",
                R"({"feature_names":["a","b","c","d","e","f","g","h","i","j"],"more":1})");
  EXPECT_FALSE(FromCache());
}

TEST_F(DatasetCacheTest, AFlippedByteAnywhereIsNotTrusted) {
  Dataset good;
  FromCache(&good);
  const std::string bytes = ReadText(cache_);
  // A sample of the header, with each byte of its last words, and of the payload.
  std::vector<size_t> places;
  for (size_t at = 0; at < 168; at += 7) places.push_back(at);
  for (size_t at = 168; at < 192; ++at) places.push_back(at);
  for (size_t at = 192; at < bytes.size(); at += bytes.size() / 20) places.push_back(at);
  places.push_back(bytes.size() - 1);
  size_t trusted = 0;
  for (const size_t at : places) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    folder_.Write("train.jsonl.kxc", damaged);
    Dataset data;
    const bool from_cache = FromCache(&data);
    EXPECT_EQ(Text(data) == Text(good), true) << at;
    trusted += from_cache ? 1 : 0;
    EXPECT_EQ(ReadText(cache_).size(), bytes.size());  // rewritten
  }
  EXPECT_EQ(trusted, 0U);
}

TEST_F(DatasetCacheTest, AnotherVersionLengthOrFormIsNotTrusted) {
  FromCache();
  const std::string bytes = ReadText(cache_);
  std::string newer = bytes;
  newer[8] = 99;  // the version, under a header hash that fits it
  constexpr size_t kHeader = 192;
  const uint64_t hash = XXH3_64bits(newer.data(), kHeader - 8);
  std::memcpy(newer.data() + kHeader - 8, &hash, sizeof hash);
  const std::string empty;
  for (const auto& other : {newer, bytes.substr(0, bytes.size() - 1), bytes + "x",
                            bytes.substr(0, 100), empty, std::string(5000, 'x')}) {
    folder_.Write("train.jsonl.kxc", other);
    EXPECT_FALSE(FromCache());
    EXPECT_TRUE(FromCache());
  }
  std::filesystem::remove(cache_);
  std::filesystem::create_directory(cache_);  // in the way: the source is enough
  EXPECT_FALSE(FromCache());
  EXPECT_FALSE(FromCache());
}

TEST_F(DatasetCacheTest, SkippedWhereItCannotBeWritten) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_FALSE(FromCache());
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  ReadReport report;
  LoadDataset(source_, {.use_cache = false}, &report);
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

TEST_F(DatasetCacheTest, AFileWithBadLinesIsNotCached) {
  folder_.Write("train.jsonl", ReadText(source_) + "{bad\n");
  for (int i = 0; i < 2; ++i) {
    Quarantine quarantine(folder_.File("aside"));
    ReadReport report;
    LoadDataset(source_, {.quarantine = &quarantine}, &report);
    EXPECT_EQ(report.bad, 1U);  // said every time
    EXPECT_FALSE(std::filesystem::exists(cache_));
  }
}

}  // namespace
}  // namespace kernelx
