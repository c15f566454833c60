// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kernelx {
namespace {

constexpr RatioOfSums kMean = {.numerator = 0, .denominator = 1};
constexpr RatioOfSums kOther = {.numerator = 2, .denominator = 1};

TEST(Clusters, AreNumberedById) {
  const Clusters clusters = Clusters::Of(std::vector<uint64_t>{900, 7, 900, 42, ~uint64_t{0}});
  EXPECT_EQ(clusters.count, 4U);
  EXPECT_EQ(clusters.of_row, (std::vector<uint32_t>{2, 0, 2, 1, 3}));
}

TEST(ClusterBootstrap, FewClustersGetTheStudentIntervalByHand) {
  // Cluster means 2, 4, 6: mean 4, standard error sqrt(8/9 * 3/2) = 1.154701, t(2) = 4.30265.
  const ClusterBootstrap bootstrap({2, 1, 4, 1, 6, 1}, 2);
  EXPECT_NEAR(bootstrap.StandardError(kMean), 1.154701, 1e-6);
  const Interval interval = bootstrap.Estimate(kMean);
  EXPECT_DOUBLE_EQ(interval.value, 4.0);
  EXPECT_NEAR(interval.lo, 4.0 - 4.968272, 1e-5);
  EXPECT_NEAR(interval.hi, 4.0 + 4.968272, 1e-5);
}

TEST(ClusterBootstrap, ClustersOfUnequalSizeAreWeighedByTheirRows) {
  // 3 rows that sum to 3, 1 row of 5: mean 2; residuals 3 - 6 and 5 - 2 over 4, so
  // sqrt((9 + 9) / 16 * 2) = 1.5.
  const ClusterBootstrap bootstrap({3, 3, 5, 1}, 2);
  EXPECT_DOUBLE_EQ(bootstrap.Estimate(kMean).value, 2.0);
  EXPECT_DOUBLE_EQ(bootstrap.StandardError(kMean), 1.5);
}

TEST(ClusterBootstrap, OneClusterSaysNothing) {
  const Interval interval = ClusterBootstrap({2, 1}, 2).Estimate(kMean);
  EXPECT_EQ(interval.value, 2.0);
  EXPECT_EQ(interval.lo, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(interval.hi, std::numeric_limits<double>::infinity());
}

TEST(ClusterBootstrap, PercentilesOfTheBinomialByHand) {
  // 20 clusters, half of them 1: twenty times a resampled mean is Binomial(20, 1/2), whose 2.5 %
  // and 97.5 % quantiles are 6 and 14.
  std::vector<double> sums;
  for (int c = 0; c < 20; ++c) sums.insert(sums.end(), {c % 2 == 0 ? 1.0 : 0.0, 1.0});
  const ClusterBootstrap bootstrap(sums, 2, {.replicates = 20000});
  const Interval interval = bootstrap.Estimate(kMean);
  EXPECT_DOUBLE_EQ(interval.value, 0.5);
  EXPECT_DOUBLE_EQ(interval.lo, 0.3);
  EXPECT_DOUBLE_EQ(interval.hi, 0.7);
}

TEST(ClusterBootstrap, PairsCancelWhatTheyShare) {
  // Two columns that differ by exactly 1 in each row: the difference has no spread at all.
  std::vector<double> sums;
  for (int c = 0; c < 40; ++c) {
    const double x = std::sin(c) * 100.0;
    sums.insert(sums.end(), {x + 1.0, 1.0, x});
  }
  const Interval diff = ClusterBootstrap(sums, 3).Estimate(kMean, kOther);
  EXPECT_NEAR(diff.lo, 1.0, 1e-9);
  EXPECT_NEAR(diff.hi, 1.0, 1e-9);
  const Interval alone = ClusterBootstrap(sums, 3).Estimate(kMean);
  EXPECT_GT(alone.hi - alone.lo, 20.0);
}

TEST(ClusterBootstrap, SeedFixesTheReplicatesAndThreadsDoNot) {
  std::vector<double> sums;
  for (int c = 0; c < 40; ++c) sums.insert(sums.end(), {std::sin(c), 1.0 + c % 3});
  const Interval one = ClusterBootstrap(sums, 2, {.seed = 3, .threads = 1}).Estimate(kMean);
  const Interval three = ClusterBootstrap(sums, 2, {.seed = 3, .threads = 3}).Estimate(kMean);
  const Interval other = ClusterBootstrap(sums, 2, {.seed = 4, .threads = 1}).Estimate(kMean);
  EXPECT_EQ(one.lo, three.lo);
  EXPECT_EQ(one.hi, three.hi);
  EXPECT_NE(one.lo, other.lo);
}

TEST(ClusterBootstrap, NothingOverNothingIsNaN) {
  std::vector<double> sums;
  for (int c = 0; c < 25; ++c) sums.insert(sums.end(), {0.0, 0.0});
  const Interval interval = ClusterBootstrap(sums, 2).Estimate(kMean);
  EXPECT_TRUE(std::isnan(interval.value));
  EXPECT_TRUE(std::isnan(interval.lo));
  EXPECT_TRUE(std::isnan(interval.hi));
}

}  // namespace
}  // namespace kernelx
