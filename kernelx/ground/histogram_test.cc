// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ground/histogram.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

TEST(HistogramTest, BucketsAreNarrowInOrderAndWithoutHoles) {
  size_t last = 0;
  for (uint64_t value = 0; value < 200'000; ++value) {
    const size_t bucket = Histogram::BucketOf(value);
    ASSERT_TRUE(bucket == last || bucket == last + 1) << value;
    ASSERT_LE(std::abs(Histogram::Middle(bucket) - static_cast<double>(value)),
              static_cast<double>(value) / 64.0)
        << value;
    last = bucket;
  }
  EXPECT_EQ(Histogram::BucketOf(uint64_t{1} << 62), Histogram::kBuckets - 1);
  EXPECT_LT(Histogram::BucketOf((uint64_t{1} << 39) - 1), Histogram::kBuckets);
}

TEST(HistogramTest, QuantilesAreThoseOfTheSortedValues) {
  Rng rng(3);
  std::vector<uint64_t> values;
  Histogram all, half;
  for (int i = 0; i < 20'001; ++i) {
    const auto value = static_cast<uint64_t>(std::exp(3.0 + 2.0 * rng.Normal()));
    values.push_back(value);
    (i % 2 == 0 ? all : half).Add(value);
  }
  all.Add(half);
  EXPECT_EQ(all.total(), values.size());
  std::sort(values.begin(), values.end());
  for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(values.size()))) - 1;
    const auto exact = static_cast<double>(values[rank]);
    EXPECT_NEAR(all.Quantile(q), exact, exact / 64 + 1e-9) << q;
  }
  EXPECT_EQ(Histogram().Quantile(0.5), 0.0);
}

}  // namespace
}  // namespace kernelx
