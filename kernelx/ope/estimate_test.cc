// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kernelx/ground/error.h"
#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

using Kind = ActionLaw::Kind;
constexpr size_t kLogging = OffPolicyEstimator::kLoggingPolicy;

/// Clusters of normal effect; s = 0.7 (cluster) + 0.7 (row) normals; r = -(a - 0.5 tanh s)^2 + 0.5
/// (cluster) + 0.5 (row) normals; a = 0 with probability p_zero, else uniform.
LoggedDraws Toy(uint64_t seed, size_t clusters, size_t rows_each, double p_zero = 0.0) {
  LoggedDraws draws;
  Rng rng(seed, 77);
  draws.feature_count = 1;
  draws.rewards = {{"total", {}}, {"effort", {}}};
  for (size_t c = 0; c < clusters; ++c) {
    const double state_effect = 0.7 * rng.Normal();
    const double reward_effect = 0.5 * rng.Normal();
    for (size_t i = 0; i < rows_each; ++i) {
      const double s = state_effect + 0.7 * rng.Normal();
      const bool zero = rng.Uniform() < p_zero;
      const double a = rng.Uniform(-1.0, 1.0);
      draws.action.push_back(zero ? 0.0 : a);
      const double gap = draws.action.back() - 0.5 * std::tanh(s);
      draws.p_zero.push_back(p_zero);
      draws.cluster.push_back(1000 + 17 * c);
      draws.features.push_back(s);
      draws.rewards[0].value.push_back(-gap * gap + reward_effect + 0.5 * rng.Normal());
      draws.rewards[1].value.push_back(-0.05 * std::abs(draws.action.back()));
    }
  }
  return draws;
}

PolicyLaws Uniform(size_t rows) {
  return {.name = "random", .laws = std::vector<ActionLaw>(rows, {.kind = Kind::kUniform})};
}

/// tanh(atanh(0.5 tanh s) + sigma N): the best action with some spread.
PolicyLaws Aimed(const LoggedDraws& draws, double sigma) {
  PolicyLaws policy{.name = "aimed", .laws = {}};
  for (const double s : draws.features) {
    policy.laws.push_back({.kind = Kind::kTanhGaussian,
                           .center = std::atanh(0.5 * std::tanh(s)),
                           .log_std = std::log(sigma)});
  }
  return policy;
}

EstimateOptions Quick(size_t action_functions = 2) {
  EstimateOptions options;
  options.bootstrap.replicates = 200;
  options.outcome.action_functions = action_functions;
  options.outcome.cosines = 0;
  options.outcome.ridges = {1e-6};
  return options;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

bool Covers(const Interval& interval, double truth) {
  return interval.lo <= truth && truth <= interval.hi;
}

TEST(OffPolicyEstimator, TheLoggingPolicyItselfScoresTheMean) {
  const LoggedDraws draws = Toy(1, 40, 50);
  const double mean = Mean(draws.rewards[0].value);
  const std::vector<PolicyLaws> policies = {Uniform(draws.rows())};
  const OffPolicyEstimator blind(draws, policies, Quick(0));
  const PolicyEstimate& policy = blind.policies()[0];
  EXPECT_EQ(policy.weights.max, 1.0);
  EXPECT_EQ(policy.weights.mean.value, 1.0);
  EXPECT_EQ(policy.weights.ess, 2000.0);
  EXPECT_TRUE(policy.evaluable) << policy.why;
  EXPECT_NEAR(policy.terms[0].ips.value, mean, 1e-12);
  EXPECT_EQ(policy.terms[0].ips.value, policy.terms[0].snips.value);
  EXPECT_NEAR(policy.terms[0].dr.value, mean, 1e-12);
  EXPECT_NEAR(blind.logging_means()[0].value, mean, 1e-12);

  const OffPolicyEstimator seeing(draws, policies, Quick(2));
  const Interval dr = seeing.policies()[0].terms[0].dr;
  EXPECT_NE(dr.value, mean);
  EXPECT_LT(std::abs(dr.value - mean), 3.0 / 3.92 * (dr.hi - dr.lo));
  const PairedDifference gain = seeing.Compare(0, kLogging, Estimator::kDr);
  EXPECT_EQ(gain.verdict, Verdict::kNotDistinguishable);
  EXPECT_LT(gain.diff.hi - gain.diff.lo, 0.5 * (dr.hi - dr.lo));
}

TEST(OffPolicyEstimator, PointAtZeroIsTheMeanOfItsRowsByHand) {
  LoggedDraws draws = Toy(1, 4, 1, 0.5);
  draws.action = {0.0, 0.5, 0.0, -0.25};
  draws.rewards[0].value = {1.0, 10.0, 4.0, 20.0};
  const std::vector<PolicyLaws> policies = {ConstantPolicy("none", 0.0, 4)};
  const OffPolicyEstimator estimator(draws, policies, Quick(0));
  const PolicyEstimate& none = estimator.policies()[0];
  EXPECT_DOUBLE_EQ(none.terms[0].snips.value, 2.5);
  EXPECT_DOUBLE_EQ(none.terms[0].ips.value, 2.5);  // (1 + 4) / 0.5 / 4
  EXPECT_DOUBLE_EQ(none.weights.ess, 2.0);
  EXPECT_TRUE(none.bandwidths.empty());
}

TEST(OffPolicyEstimator, EffectiveSampleSizeOfANarrowPolicy) {
  const LoggedDraws draws = Toy(2, 100, 1000);
  const PolicyLaws narrow{
      .name = "narrow",
      .laws = std::vector<ActionLaw>(draws.rows(), {Kind::kTanhGaussian, 0.0, std::log(0.1)})};
  EstimateOptions options = Quick();
  options.bootstrap.replicates = 100;
  const OffPolicyEstimator estimator(draws, std::vector{narrow}, options);
  const WeightDiagnostics& weights = estimator.policies()[0].weights;
  EXPECT_NEAR(weights.ess / 1e5, 0.177, 0.01);  // 0.1 sqrt(pi)
  EXPECT_NEAR(weights.mean.value, 1.0, 0.02);
  EXPECT_TRUE(weights.mean_covers_one);
  EXPECT_NEAR(weights.largest_cluster_share, 0.01, 0.003);
  EXPECT_EQ(weights.clipped_mass, 0.0);
}

/// What one run of the toy gives; the truth is known.
struct ToyRun {
  Interval ips, snips, dr, dm, gain, useless_dr, useless_dm;
};

constexpr double kTruth = -0.0664;
constexpr size_t kRowRuns = 60;
constexpr double kTrueGain = 0.3646;

std::vector<ToyRun> ToyRuns(size_t count) {
  std::vector<ToyRun> runs(count);
  ParallelFor(count, 0, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const LoggedDraws draws = Toy(100 + i, 60, 50);
      const std::vector<PolicyLaws> policies = {Aimed(draws, 0.3)};
      EstimateOptions options = Quick(2);
      options.threads = options.bootstrap.threads = options.outcome.threads = 1;
      const OffPolicyEstimator estimator(draws, policies, options);
      const TermEstimate& total = estimator.policies()[0].terms[0];
      options.outcome.action_functions = 0;
      options.bootstrap.replicates = 100;
      const OffPolicyEstimator useless(draws, policies, options);
      runs[i] = {.ips = total.ips,
                 .snips = total.snips,
                 .dr = total.dr,
                 .dm = total.dm,
                 .gain = estimator.Compare(0, kLogging, Estimator::kDr).diff,
                 .useless_dr = useless.policies()[0].terms[0].dr,
                 .useless_dm = useless.policies()[0].terms[0].dm};
    }
  });
  return runs;
}

class ToyTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { toy_runs = new std::vector<ToyRun>(ToyRuns(250)); }
  static void TearDownTestSuite() {
    delete toy_runs;
    toy_runs = nullptr;
  }
  static double MeanOf(Interval ToyRun::*field) {
    double sum = 0.0;
    for (const ToyRun& run : *toy_runs) sum += (run.*field).value;
    return sum / static_cast<double>(toy_runs->size());
  }
  static double Coverage(Interval ToyRun::*field, double truth) {
    double covered = 0.0;
    for (const ToyRun& run : *toy_runs) covered += Covers(run.*field, truth) ? 1.0 : 0.0;
    return covered / static_cast<double>(toy_runs->size());
  }
  static std::vector<ToyRun>* toy_runs;
};

std::vector<ToyRun>* ToyTest::toy_runs = nullptr;

TEST_F(ToyTest, EstimatesAreUnbiasedWhereTheyClaimIt) {
  EXPECT_NEAR(MeanOf(&ToyRun::ips), kTruth, 0.01);
  EXPECT_NEAR(MeanOf(&ToyRun::snips), kTruth, 0.01);
  EXPECT_NEAR(MeanOf(&ToyRun::dr), kTruth, 0.01);
  EXPECT_NEAR(MeanOf(&ToyRun::gain), kTrueGain, 0.003);
  // A quadratic cannot bend like tanh: the direct method is off by what least squares leaves. What
  // the clusters add to both cancels in the difference.
  EXPECT_NEAR(MeanOf(&ToyRun::dm) - MeanOf(&ToyRun::dr), -0.0785 + 0.0665, 0.003);
  // A model that ignores the action misleads the direct method entirely, the correction not at all.
  EXPECT_NEAR(MeanOf(&ToyRun::useless_dr), kTruth, 0.01);
  EXPECT_NEAR(MeanOf(&ToyRun::useless_dm), -0.431, 0.01);
}

TEST_F(ToyTest, IntervalsOverClustersCover) {
  EXPECT_GE(Coverage(&ToyRun::ips, kTruth), 0.92);
  EXPECT_GE(Coverage(&ToyRun::snips, kTruth), 0.92);
  EXPECT_GE(Coverage(&ToyRun::dr, kTruth), 0.92);
  EXPECT_GE(Coverage(&ToyRun::gain, kTrueGain), 0.90);
}

// Why clusters: the same interval over single rows claims 95 % and covers about 40 %.
TEST(OffPolicyEstimator, IntervalsOverRowsWouldNotCover) {
  std::vector<int> covered(kRowRuns);
  ParallelFor(kRowRuns, 0, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      LoggedDraws draws = Toy(100 + i, 60, 50);
      const std::vector<PolicyLaws> policies = {Aimed(draws, 0.3)};
      std::iota(draws.cluster.begin(), draws.cluster.end(), 0);
      EstimateOptions options = Quick(2);
      options.threads = options.bootstrap.threads = options.outcome.threads = 1;
      const OffPolicyEstimator estimator(draws, policies, options);
      covered[i] = Covers(estimator.policies()[0].terms[0].dr, kTruth) ? 1 : 0;
    }
  });
  EXPECT_LT(std::accumulate(covered.begin(), covered.end(), 0), static_cast<int>(0.7 * kRowRuns));
}

TEST(OffPolicyEstimator, WrongPropensitiesShowInTheMeanWeight) {
  LoggedDraws draws = Toy(3, 60, 400, 0.15);
  const std::vector<PolicyLaws> policies = {ConstantPolicy("none", 0.0, draws.rows()),
                                            ConstantPolicy("half", 0.5, draws.rows())};
  EstimateOptions options = Quick();
  options.min_ess = 500;
  const OffPolicyEstimator sound(draws, policies, options);
  EXPECT_TRUE(sound.policies()[0].evaluable) << sound.policies()[0].why;
  EXPECT_TRUE(sound.policies()[1].evaluable) << sound.policies()[1].why;
  for (double& p : draws.p_zero) p *= 2.0;
  const OffPolicyEstimator corrupted(draws, policies, options);
  const PolicyEstimate& none = corrupted.policies()[0];
  EXPECT_NEAR(none.weights.mean.value, 0.5, 0.05);
  EXPECT_FALSE(none.weights.mean_covers_one);
  EXPECT_FALSE(none.evaluable);
  EXPECT_NE(none.why.find("propensities"), std::string::npos) << none.why;
  const PairedDifference pair = corrupted.Compare(1, 0, Estimator::kSnips);
  EXPECT_EQ(pair.verdict, Verdict::kNotEvaluable);
  EXPECT_NE(pair.why.find("propensities"), std::string::npos) << pair.why;
}

TEST(OffPolicyEstimator, ConstantAddedToTheRewardIsAddedToTheEstimates) {
  LoggedDraws draws = Toy(4, 40, 50);
  const std::vector<PolicyLaws> policies = {Aimed(draws, 0.3)};
  const OffPolicyEstimator before(draws, policies, Quick());
  for (double& r : draws.rewards[0].value) r += 100.0;
  const OffPolicyEstimator after(draws, policies, Quick());
  const TermEstimate& old_total = before.policies()[0].terms[0];
  const TermEstimate& new_total = after.policies()[0].terms[0];
  EXPECT_NEAR(new_total.snips.value - old_total.snips.value, 100.0, 1e-9);
  EXPECT_NEAR(new_total.dr.value - old_total.dr.value, 100.0, 1e-7);
  EXPECT_NEAR(new_total.ips.value - old_total.ips.value,
              100.0 * before.policies()[0].weights.mean.value, 1e-9);
}

TEST(OffPolicyEstimator, PointAtTheEndIsNotHalved) {
  LoggedDraws draws = Toy(5, 50, 400);
  std::fill(draws.rewards[0].value.begin(), draws.rewards[0].value.end(), 2.0);
  const std::vector<PolicyLaws> policies = {ConstantPolicy("top", 1.0, draws.rows())};
  const OffPolicyEstimator estimator(draws, policies, Quick(0));
  const double corrected = estimator.policies()[0].terms[0].ips.value;
  EXPECT_NEAR(corrected, 2.0, 0.2);
  EXPECT_NEAR(corrected * KernelMassInside(1.0, 0.15), 1.0, 0.1);  // what it would be without
}

TEST(OffPolicyEstimator, TooLittleDataIsNotEvaluable) {
  const LoggedDraws small = Toy(6, 40, 20);
  const std::vector<PolicyLaws> random = {Uniform(small.rows())};
  const OffPolicyEstimator few_rows(small, random, Quick());
  EXPECT_FALSE(few_rows.policies()[0].evaluable);
  EXPECT_NE(few_rows.policies()[0].why.find("effective sample size 800"), std::string::npos);
  EXPECT_EQ(VerdictWord(few_rows.Compare(0, kLogging, Estimator::kDr).verdict), "not evaluable");

  const LoggedDraws lumpy = Toy(6, 19, 200);
  const std::vector<PolicyLaws> same = {Uniform(lumpy.rows())};
  const OffPolicyEstimator few_clusters(lumpy, same, Quick());
  EXPECT_FALSE(few_clusters.policies()[0].evaluable);
  EXPECT_NE(few_clusters.policies()[0].why.find("19 clusters"), std::string::npos);
}

TEST(OffPolicyEstimator, PolicyWithoutAnyMatchingRowStillReports) {
  LoggedDraws draws = Toy(7, 30, 10);
  for (double& a : draws.action) a = -0.9;
  const std::vector<PolicyLaws> policies = {ConstantPolicy("far", 0.9, draws.rows())};
  const OffPolicyEstimator estimator(draws, policies, Quick());
  EXPECT_FALSE(estimator.policies()[0].evaluable);
  EXPECT_EQ(estimator.policies()[0].weights.ess, 0.0);
  EXPECT_TRUE(std::isnan(estimator.policies()[0].terms[0].snips.value));
}

TEST(OffPolicyEstimator, VerdictsAndTermsOfPairedDifferences) {
  const LoggedDraws draws = Toy(8, 60, 400, 0.15);
  const std::vector<PolicyLaws> policies = {Aimed(draws, 0.3),
                                            ConstantPolicy("none", 0.0, draws.rows()),
                                            ConstantPolicy("end", 0.9, draws.rows())};
  const OffPolicyEstimator estimator(draws, policies, Quick());
  EXPECT_EQ(estimator.Compare(0, 2, Estimator::kDr).verdict, Verdict::kBetter);
  EXPECT_EQ(estimator.Compare(2, 0, Estimator::kSnips).verdict, Verdict::kWorse);
  const PairedDifference self = estimator.Compare(1, 1, Estimator::kDr);
  EXPECT_EQ(self.diff.lo, 0.0);
  EXPECT_EQ(self.diff.hi, 0.0);
  // Effort is a function of the action: -0.05 x 0.9 within the kernel, 0 at 0.
  const PairedDifference effort = estimator.Compare(2, 1, Estimator::kSnips, 1);
  EXPECT_NEAR(effort.diff.value, -0.045, 0.001);
  EXPECT_TRUE(effort.bandwidths.empty());
  const PairedDifference total = estimator.Compare(2, 1, Estimator::kDr);
  ASSERT_EQ(total.bandwidths.size(), 3U);
  EXPECT_DOUBLE_EQ(total.bandwidths[0].bandwidth, 0.075);
  EXPECT_DOUBLE_EQ(total.bandwidths[2].bandwidth, 0.3);
  EXPECT_EQ(total.bandwidths[1].diff.value, total.diff.value);
  EXPECT_GT(estimator.policies()[2].bandwidths[2].ess, estimator.policies()[2].bandwidths[0].ess);
}

TEST(OffPolicyEstimator, OrderOfRowsAndThreadsDoNotMatter) {
  const LoggedDraws draws = Toy(9, 40, 60, 0.15);
  std::vector<size_t> order(draws.rows());
  std::iota(order.begin(), order.end(), 0);
  Rng rng(3);
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng.Below(i + 1)]);
  LoggedDraws shuffled = draws;
  for (size_t i = 0; i < order.size(); ++i) {
    shuffled.action[i] = draws.action[order[i]];
    shuffled.cluster[i] = draws.cluster[order[i]];
    shuffled.features[i] = draws.features[order[i]];
    for (size_t t = 0; t < 2; ++t) {
      shuffled.rewards[t].value[i] = draws.rewards[t].value[order[i]];
    }
  }
  EstimateOptions options = Quick();
  options.outcome.cosines = 20;
  const auto run = [&](const LoggedDraws& d, unsigned threads) {
    options.threads = options.bootstrap.threads = options.outcome.threads = threads;
    const std::vector<PolicyLaws> policies = {Aimed(d, 0.4), ConstantPolicy("low", -0.3, d.rows())};
    return OffPolicyEstimator(d, policies, options).Compare(0, 1, Estimator::kDr).diff;
  };
  const Interval one = run(draws, 1);
  const Interval three = run(draws, 3);
  const Interval permuted = run(shuffled, 1);
  EXPECT_EQ(one.value, three.value);
  EXPECT_EQ(one.lo, three.lo);
  EXPECT_EQ(one.hi, three.hi);
  EXPECT_NEAR(one.value, permuted.value, 1e-9);
  EXPECT_NEAR(one.lo, permuted.lo, 1e-9);
  EXPECT_NEAR(one.hi, permuted.hi, 1e-9);
}

TEST(OffPolicyEstimator, ClippingIsReportedAndTouchesOnlyDr) {
  const LoggedDraws draws = Toy(10, 40, 100);
  const std::vector<PolicyLaws> policies = {ConstantPolicy("mid", 0.2, draws.rows())};
  EstimateOptions options = Quick(0);
  const OffPolicyEstimator whole(draws, policies, options);
  options.clip = 2.0;
  const OffPolicyEstimator clipped(draws, policies, options);
  EXPECT_EQ(whole.policies()[0].weights.clipped_mass, 0.0);  // its peak is 10
  EXPECT_GT(clipped.policies()[0].weights.clipped_mass, 0.5);
  EXPECT_EQ(whole.policies()[0].terms[0].ips.value, clipped.policies()[0].terms[0].ips.value);
  EXPECT_NE(whole.policies()[0].terms[0].dr.value, clipped.policies()[0].terms[0].dr.value);
}

TEST(OffPolicyEstimator, RefusesWhatDoesNotFit) {
  const LoggedDraws good = Toy(1, 30, 10);
  const std::vector<PolicyLaws> policies = {Uniform(good.rows())};
  const auto refused = [&](const LoggedDraws& draws, const std::string& word) {
    try {
      OffPolicyEstimator estimator(draws, policies, Quick());
    } catch (const Error& error) {
      return std::string(error.what()).find(word) != std::string::npos;
    }
    return false;
  };
  LoggedDraws draws = good;
  draws.action[3] = 1.5;
  EXPECT_TRUE(refused(draws, "action of row 3"));
  draws = good;
  draws.p_zero[2] = 1.0;
  EXPECT_TRUE(refused(draws, "p_zero of row 2"));
  draws = good;
  draws.rewards[1].value[7] = std::nan("");
  EXPECT_TRUE(refused(draws, "reward 'effort' of row 7"));
  draws = good;
  draws.features.pop_back();
  EXPECT_TRUE(refused(draws, "features"));
  EXPECT_TRUE(refused(LoggedDraws{}, "0 rows"));
  EXPECT_TRUE(refused(Toy(1, 30, 11), "policy 'random' has 300 laws"));
  EstimateOptions options;
  options.bandwidth = 0.0;
  EXPECT_THROW(OffPolicyEstimator(good, policies, options), Error);
}

TEST(BestConstant, FindsTheTopOfAParabola) {
  LoggedDraws draws = Toy(12, 50, 100);
  for (size_t i = 0; i < draws.rows(); ++i) {
    const double gap = draws.action[i] - 0.4;
    draws.rewards[0].value[i] = -gap * gap;
  }
  const std::vector<double> grid = {-1.0, -0.6, -0.2, 0.2, 0.4, 0.6, 1.0};
  const ConstantChoice choice = BestConstant(draws, grid, Quick());
  EXPECT_EQ(choice.action, 0.4);
  EXPECT_NEAR(choice.values[4], -0.15 * 0.15 / 5.0, 1e-3);  // the kernel's own variance
  EXPECT_NEAR(choice.values[1], -1.0 - 0.15 * 0.15 / 5.0, 0.02);
  EXPECT_THROW((void)BestConstant(draws, {}, Quick()), Error);
}

}  // namespace
}  // namespace kernelx
