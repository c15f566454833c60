// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/advantage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

/// A batch of one decision whose groups have the given rewards.
GroupBatch Batch(const std::vector<std::vector<double>>& groups) {
  GroupBatch batch;
  batch.Resize(groups.size(), groups.front().size(), 1, 1);
  std::ranges::fill(batch.alive, 1);
  for (size_t i = 0; i < groups.size(); ++i) {
    std::ranges::copy(groups[i],
                      batch.rewards.begin() + static_cast<std::ptrdiff_t>(i * batch.group_size));
  }
  batch.ComputeReturns(1.0);
  return batch;
}

std::vector<double> Advantages(const std::vector<double>& rewards, AdvantageScale scale,
                               bool leave_one_out = false) {
  GroupBatch batch = Batch({rewards});
  AdvantageEstimator(scale, leave_one_out).Compute(batch);
  return batch.advantages;
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& expected, double by) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], by) << i;
}

std::vector<double> NormalRewards(size_t n, double shift = 0.0, double scale = 1.0) {
  Rng rng(3);
  std::vector<double> r(n);
  for (double& x : r) x = shift + scale * rng.Normal();
  return r;
}

TEST(Advantage, GroupScaleIsThatOfTrl) {
  ExpectNear(Advantages({0, 1, 2, 3}, AdvantageScale::kGroup),
             {-1.16180, -0.38727, 0.38727, 1.16180}, 1e-5);
  const double a = 0.93524;
  ExpectNear(Advantages({1, 0, 0, 0, 1, 1, 0, 1}, AdvantageScale::kGroup),
             {a, -a, -a, -a, a, a, -a, a}, 1e-5);
}

TEST(Advantage, OneOutlierErasesAGroupThatIsScaledByItself) {
  std::vector<double> rewards(16, 0.0);
  rewards[0] = -1e5;
  std::vector<double> expected(16, 0.25);
  expected[0] = -3.75;
  ExpectNear(Advantages(rewards, AdvantageScale::kGroup), expected, 1e-4);
}

TEST(Advantage, AConstantChangesNothing) {
  for (const auto scale : {AdvantageScale::kNone, AdvantageScale::kEma, AdvantageScale::kBatch,
                           AdvantageScale::kGroup}) {
    ExpectNear(Advantages(NormalRewards(16, 1e6), scale), Advantages(NormalRewards(16), scale),
               1e-6);
  }
}

TEST(Advantage, AFactorScalesOnlyWhereNothingDividesItOut) {
  const auto one = NormalRewards(16, 0.0, 10.0);
  const auto seven = NormalRewards(16, 0.0, 70.0);
  const auto none = Advantages(one, AdvantageScale::kNone);
  const auto none7 = Advantages(seven, AdvantageScale::kNone);
  const auto group = Advantages(one, AdvantageScale::kGroup);
  const auto group7 = Advantages(seven, AdvantageScale::kGroup);
  for (size_t j = 0; j < 16; ++j) {
    EXPECT_NEAR(none7[j], 7.0 * none[j], 1e-9);
    EXPECT_NEAR(group7[j], group[j], 1e-3 * std::abs(group[j]));
  }
}

TEST(Advantage, FollowsItsMemberAndSumsToZero) {
  const auto rewards = NormalRewards(16);
  auto turned = rewards;
  std::ranges::rotate(turned, turned.begin() + 5);
  for (const auto scale : {AdvantageScale::kNone, AdvantageScale::kGroup}) {
    auto a = Advantages(rewards, scale);
    EXPECT_NEAR(std::accumulate(a.begin(), a.end(), 0.0), 0.0, 1e-9);
    std::ranges::rotate(a, a.begin() + 5);
    ExpectNear(Advantages(turned, scale), a, 1e-12);
  }
}

TEST(Advantage, LeaveOneOutComparesWithTheOthers) {
  const auto rewards = NormalRewards(8);
  const double sum = std::accumulate(rewards.begin(), rewards.end(), 0.0);
  std::vector<double> expected;
  for (const double r : rewards) expected.push_back(r - (sum - r) / 7.0);
  ExpectNear(Advantages(rewards, AdvantageScale::kNone, true), expected, 1e-12);
}

TEST(Advantage, EqualRewardsGiveExactlyZeroAndAreCounted) {
  GroupBatch batch = Batch({{0.1, 0.1, 0.1}, {0.3, 0.7, 0.2}});
  const auto summary = AdvantageEstimator(AdvantageScale::kEma, true).Compute(batch);
  for (size_t j = 0; j < 3; ++j) EXPECT_EQ(batch.advantages[j], 0.0);
  EXPECT_NE(batch.advantages[3], 0.0);
  EXPECT_EQ(summary.zero_std_share, 0.5);
}

TEST(Advantage, RunningScaleMovesByOnePercent) {
  AdvantageEstimator estimator(AdvantageScale::kEma, false);
  GroupBatch batch = Batch({{-1, 1}, {-1, 1}});
  EXPECT_EQ(estimator.Compute(batch).scale, 1.0);  // the first update sets it
  batch = Batch({{-3, 3}, {-3, 3}});
  EXPECT_NEAR(estimator.Compute(batch).scale, 0.99 * 1.0 + 0.01 * 3.0, 1e-12);
  EXPECT_NEAR(batch.advantages[1], 3.0 / 1.02, 1e-12);
  EXPECT_NEAR(estimator.running_scale(), 1.02, 1e-12);
}

TEST(Advantage, ReturnsAreDiscountedAndEndWithTheMember) {
  GroupBatch batch;
  batch.Resize(1, 2, 3, 1);
  // Member 0 lives through, member 1 ends after the second decision.
  batch.alive = {1, 1, 1, 1, 1, 0};
  batch.rewards = {1, 10, 2, 20, 4, 0};
  batch.ComputeReturns(0.5);
  EXPECT_EQ(batch.returns, (std::vector<double>{1 + 1 + 1, 10 + 10, 2 + 2, 20, 4, 0}));
  AdvantageEstimator(AdvantageScale::kNone, true).Compute(batch);
  // Two members: each against the other.
  EXPECT_EQ(batch.advantages, (std::vector<double>{-17, 17, -16, 16, 4, 0}));
}

}  // namespace
}  // namespace kernelx
