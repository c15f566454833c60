// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/outcome_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

/// r = 1 + 2 x + a (0.5 - x) - a^2 + noise; features x and a constant.
LoggedDraws LinearDraws(size_t n, double noise) {
  LoggedDraws draws;
  Rng rng(11);
  draws.feature_count = 2;
  draws.rewards = {{"total", {}}, {"minus", {}}};
  for (size_t i = 0; i < n; ++i) {
    const double x = rng.Normal();
    const double a = rng.Uniform(-1.0, 1.0);
    const double r = 1.0 + 2.0 * x + a * (0.5 - x) - a * a + noise * rng.Normal();
    draws.action.push_back(a);
    draws.p_zero.push_back(0.0);
    draws.cluster.push_back(i % 50);
    draws.features.insert(draws.features.end(), {1000.0 * x + 5.0, 7.0});
    draws.rewards[0].value.push_back(r);
    draws.rewards[1].value.push_back(-r);
  }
  return draws;
}

TEST(OutcomeModel, FindsWhatIsInItsSpan) {
  const LoggedDraws draws = LinearDraws(4000, 0.1);
  const OutcomeModel model = OutcomeModel::Fit(draws, {.cosines = 0});
  EXPECT_GT(model.r_squared()[0], 0.99);
  for (size_t i = 0; i < draws.rows(); i += 97) {
    const double x = (draws.features[2 * i] - 5.0) / 1000.0;
    if (std::abs(x) > 3.0) continue;
    for (const double a : {-0.8, 0.0, 0.6}) {
      const double truth = 1.0 + 2.0 * x + a * (0.5 - x) - a * a;
      EXPECT_NEAR(model.Value(i, 0, BasisAt(a)), truth, 0.06);
      EXPECT_NEAR(model.Value(i, 1, BasisAt(a)), -truth, 0.06);
    }
  }
}

TEST(OutcomeModel, CosinesBendWithTheState) {
  LoggedDraws draws = LinearDraws(4000, 0.1);
  for (size_t i = 0; i < draws.rows(); ++i) {
    draws.rewards[0].value[i] = std::cos(draws.features[2 * i] / 500.0);
  }
  EXPECT_LT(OutcomeModel::Fit(draws, {.cosines = 0}).r_squared()[0], 0.3);
  EXPECT_GT(OutcomeModel::Fit(draws).r_squared()[0], 0.95);
}

TEST(OutcomeModel, WithoutActionFunctionsTheActionDoesNotMatter) {
  const OutcomeModel model =
      OutcomeModel::Fit(LinearDraws(1000, 0.1), {.action_functions = 0, .cosines = 0});
  EXPECT_EQ(model.Value(3, 0, BasisAt(-1.0)), model.Value(3, 0, BasisAt(0.7)));
}

TEST(OutcomeModel, RowsAreNotPredictedFromTheirOwnCluster) {
  // The outcome is a coin a cluster, and the features name the cluster: known cold in sample,
  // unknowable out of it.
  LoggedDraws draws = LinearDraws(2000, 0.1);
  draws.feature_count = 50;
  draws.features.assign(draws.rows() * 50, 0.0);
  Rng rng(5);
  std::vector<double> coin(50);
  for (double& c : coin) c = rng.Normal();
  for (size_t i = 0; i < draws.rows(); ++i) {
    draws.features[i * 50 + draws.cluster[i]] = 1.0;
    draws.rewards[0].value[i] = coin[draws.cluster[i]];
  }
  EXPECT_LT(OutcomeModel::Fit(draws, {.cosines = 0}).r_squared()[0], 0.05);
  // With folds that split clusters the leak shows.
  draws.fold.resize(draws.rows());
  for (size_t i = 0; i < draws.rows(); ++i) draws.fold[i] = static_cast<int>((i / 50) % 5);
  EXPECT_GT(OutcomeModel::Fit(draws, {.cosines = 0}).r_squared()[0], 0.95);
}

TEST(OutcomeModel, FoldsHoldClustersTogether) {
  const LoggedDraws draws = LinearDraws(500, 0.1);
  const std::vector<int> folds = FoldsOf(draws, 5);
  std::vector<int> of_cluster(50, -1);
  for (size_t i = 0; i < draws.rows(); ++i) {
    int& fold = of_cluster[draws.cluster[i]];
    EXPECT_TRUE(fold < 0 || fold == folds[i]);
    fold = folds[i];
  }
  EXPECT_THROW((void)FoldsOf(draws, 1), Error);
}

TEST(OutcomeModel, ThreadsDoNotChangeABit) {
  const LoggedDraws draws = LinearDraws(1500, 0.5);
  const OutcomeModel one = OutcomeModel::Fit(draws, {.threads = 1});
  const OutcomeModel three = OutcomeModel::Fit(draws, {.threads = 3});
  for (size_t i = 0; i < draws.rows(); ++i) {
    ASSERT_EQ(one.Value(i, 0, BasisAt(0.3)), three.Value(i, 0, BasisAt(0.3)));
  }
}

TEST(OutcomeModel, OneClusterHasNothingToLearnFrom) {
  LoggedDraws draws = LinearDraws(200, 0.1);
  for (uint64_t& cluster : draws.cluster) cluster = 9;
  EXPECT_NEAR(OutcomeModel::Fit(draws).r_squared()[0], 0.0, 1e-12);
}

}  // namespace
}  // namespace kernelx
