// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernelx/dataset/test_files.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

using Indices = std::vector<size_t>;

TEST(ChronologicalSplit, SortsByTimeAndCutsAt80And90Percent) {
  // Row i at time 100 - i: file order is the reverse of time. No row reaches the next.
  std::vector<uint64_t> times;
  std::vector<uint64_t> ends;
  for (uint64_t i = 0; i < 20; ++i) {
    times.push_back(1000 - 10 * i);
    ends.push_back(1000 - 10 * i + 5);
  }
  const Split split = ChronologicalSplit(times, ends);
  Indices train(16);
  std::iota(train.rbegin(), train.rend(), size_t{4});  // 19, 18, ... 4
  EXPECT_EQ(split.train, train);
  EXPECT_EQ(split.validation, (Indices{3, 2}));
  EXPECT_EQ(split.test, (Indices{1, 0}));
  EXPECT_TRUE(split.embargoed.empty());
  EXPECT_TRUE(split.warnings.empty());
}

TEST(ChronologicalSplit, RowsAcrossACutAreEmbargoed) {
  // Ten rows at 0, 10, ... 90; the cuts are 80 and 90.
  std::vector<uint64_t> times;
  std::vector<uint64_t> ends;
  for (uint64_t i = 0; i < 10; ++i) {
    times.push_back(10 * i);
    ends.push_back(10 * i + 5);
  }
  ends[2] = 79;  // ends before the cut
  ends[3] = 80;  // ends at the cut: its end is the first event after it
  ends[8] = 95;  // from validation into test
  ends[9] = 500;
  const Split split = ChronologicalSplit(times, ends);
  EXPECT_EQ(split.train, (Indices{0, 1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(split.validation, Indices{});
  EXPECT_EQ(split.test, (Indices{9}));
  EXPECT_EQ(split.embargoed, (Indices{3, 8}));
  ASSERT_EQ(split.warnings.size(), 1U);
  EXPECT_NE(split.warnings[0].find("the validation split is empty"), std::string::npos);
}

TEST(ChronologicalSplit, EqualTimesKeepTheirOrderAndNoEventIsOnBothSides) {
  std::vector<uint64_t> times;
  std::vector<uint64_t> ends;
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) {
    times.push_back(rng.Below(1000));
    ends.push_back(times.back() + 1 + rng.Below(50));
  }
  const Split split = ChronologicalSplit(times, ends);
  EXPECT_EQ(
      split.train.size() + split.validation.size() + split.test.size() + split.embargoed.size(),
      5000U);
  const auto latest = [&](const Indices& rows) {
    uint64_t end = 0;
    for (const size_t i : rows) end = std::max(end, ends[i]);
    return end;
  };
  const auto earliest = [&](const Indices& rows) { return times[rows.front()]; };
  EXPECT_LT(latest(split.train), earliest(split.validation));
  EXPECT_LT(latest(split.validation), earliest(split.test));
  for (const auto* rows : {&split.train, &split.validation, &split.test}) {
    for (size_t i = 1; i < rows->size(); ++i) {
      const auto before = std::pair{times[(*rows)[i - 1]], (*rows)[i - 1]};
      ASSERT_LT(before, (std::pair{times[(*rows)[i]], (*rows)[i]}));
    }
  }
}

TEST(ChronologicalSplit, SmallAndEmptyInputsWarn) {
  EXPECT_EQ(ChronologicalSplit({}, {}).warnings.size(), 3U);
  const std::vector<uint64_t> one = {5};
  const Split split = ChronologicalSplit(one, one);
  EXPECT_EQ(split.test, Indices{0});  // floor(0.8) and floor(0.1) are 0
  EXPECT_EQ(split.warnings.size(), 2U);
}

TEST(ChronologicalSplit, WithoutEndsSaysThatNothingIsEmbargoed) {
  const std::vector<uint64_t> times = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Split split = ChronologicalSplit(times, {});
  EXPECT_EQ(split.train.size(), 8U);
  ASSERT_EQ(split.warnings.size(), 1U);
  EXPECT_NE(split.warnings[0].find("do not say when they end"), std::string::npos);
  EXPECT_NE(ErrorOf([&] { ChronologicalSplit(times, std::span(times).first(3)); }), "");
}

}  // namespace
}  // namespace kernelx
