// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ground/parallel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace kernelx {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (const unsigned threads : {0U, 1U, 2U, 3U, 16U}) {
    for (const size_t n : {0UL, 1UL, 2UL, 7UL, 1000UL}) {
      std::vector<int> visits(n, 0);
      ParallelFor(n, threads, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) ++visits[i];
      });
      EXPECT_EQ(std::accumulate(visits.begin(), visits.end(), 0), static_cast<int>(n));
      for (const int count : visits) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ParallelFor, RethrowsTheFirstPartsErrorAfterAllHaveEnded) {
  std::vector<int> done(4, 0);
  try {
    ParallelFor(4, 4, [&](size_t begin, size_t) {
      done[begin] = 1;
      if (begin == 1 || begin == 3) throw std::runtime_error(std::to_string(begin));
    });
    FAIL() << "the error was lost";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "1");
  }
  EXPECT_EQ(done, (std::vector<int>{1, 1, 1, 1}));
}

TEST(ThreadCount, ZeroMeansOneACore) {
  EXPECT_EQ(ThreadCount(3), 3U);
  EXPECT_GE(ThreadCount(0), 1U);
}

}  // namespace
}  // namespace kernelx
