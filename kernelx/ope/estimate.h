// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The judge: what would a policy have earned on the rows where the logger drew its action by lot?
// All figures but the direct method's come from logged outcomes, not from a model of them.
//
// What the number means. A row is one decision of one task while its neighbours went on acting at
// random. The estimate is the value of a small deviation from the logging policy, one decision at a
// time, averaged over the logged states. It is not the value of a full roll-out: boosts are
// relative, what all tasks get none of them has, and a policy in force everywhere meets other
// states and other neighbours. Only a live A/B answers that.
//
// Policies chosen on these very rows look better than they are; give laws that were fitted without
// the row's fold, or judge on another recording.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/ope/bootstrap.h"
#include "kernelx/ope/estimate_draws.h"
#include "kernelx/ope/outcome_model.h"

namespace kernelx {

/// With w the importance weight, r the logged reward, q the outcome model, pi the policy:
enum class Estimator {
  kIps,    ///< mean of w r
  kSnips,  ///< sum of w r / sum of w: shifts with the reward, stays within what was observed
  kDm,     ///< mean of q(s, pi): the model's own opinion, no logged outcome corrects it
  kDr,     ///< mean of q(s, pi) + min(w, clip) (r - q(s, a)): right if the propensities or q are
};

/// "ips", "snips", "model", "dr".
[[nodiscard]] std::string_view EstimatorName(Estimator estimator);

enum class Verdict { kBetter, kWorse, kNotDistinguishable, kNotEvaluable };

/// "better", "worse", "not distinguishable", "not evaluable".
[[nodiscard]] std::string_view VerdictWord(Verdict verdict);

struct EstimateOptions {
  double bandwidth = 0.15;   ///< Half-width, in units of action, of what stands for a point.
  double clip = 20.0;        ///< Of the weights, in kDr only.
  double min_ess = 1000.0;   ///< Below it a row is not evaluable.
  size_t min_clusters = 20;  ///< Likewise.
  BootstrapOptions bootstrap;
  OutcomeModelOptions outcome;
  unsigned threads = 0;  ///< 0: one a core. Does not change the result.
};

/// Can the log say anything about this policy?
struct WeightDiagnostics {
  size_t rows = 0;
  size_t clusters = 0;
  Interval mean;                ///< 1 in expectation.
  bool mean_covers_one = true;  ///< 1 is within the 95 % interval of the mean weight.
  double ess = 0.0;             ///< (sum w)^2 / sum w^2
  double cluster_ess = 0.0;     ///< The same over the clusters' sums of weights.
  double max = 0.0;
  double largest_cluster_share = 0.0;  ///< Of the sum of weights.
  double clipped_mass = 0.0;           ///< Share of the sum of weights that kDr cuts off.
};

struct TermEstimate {
  std::string name;
  Interval ips, snips, dm, dr;
};

/// The total again, with points smoothed by another bandwidth.
struct BandwidthEstimate {
  double bandwidth = 0.0;
  double ess = 0.0;
  Interval snips, dr;
};

struct PolicyEstimate {
  std::string name;
  std::vector<TermEstimate> terms;  ///< In the order of `LoggedDraws::rewards`.
  WeightDiagnostics weights;
  /// False when the effective sample size or the clusters are too few, or when the mean weight is
  /// off 1 by more than 3.3 standard errors (a 95 % test would refuse one sound policy in twenty).
  bool evaluable = true;
  std::string why;  ///< Empty when evaluable.
  /// Half, once and twice the bandwidth; empty for policies the kernel does not touch.
  std::vector<BandwidthEstimate> bandwidths;
};

struct PairedDifference {
  Interval diff;     ///< Policy less baseline, on the same resampled clusters.
  double ess = 0.0;  ///< The smaller of the two.
  bool evaluable = true;
  std::string why;
  Verdict verdict = Verdict::kNotDistinguishable;
  /// The difference of totals at half, once and twice the bandwidth; empty without a kernel.
  struct AtBandwidth {
    double bandwidth;
    Interval diff;
  };
  std::vector<AtBandwidth> bandwidths;
};

/// Estimates for several policies on one log, and their paired differences.
class OffPolicyEstimator {
 public:
  /// As `versus` of `Compare`: the logging policy itself, whose rewards are the logged ones.
  static constexpr size_t kLoggingPolicy = static_cast<size_t>(-1);

  /// Fits the outcome model and draws the resamples. Throws kBadInput for draws that do not
  /// validate and policies without one law a row, kUsage for options out of range. Keeps no
  /// reference to its arguments. The result depends neither on the thread count nor, but for
  /// rounding, on the order of rows.
  OffPolicyEstimator(const LoggedDraws& draws, std::span<const PolicyLaws> policies,
                     const EstimateOptions& options = {});

  [[nodiscard]] const std::vector<PolicyEstimate>& policies() const { return policies_; }

  /// Mean logged reward, a term.
  [[nodiscard]] const std::vector<Interval>& logging_means() const { return logging_means_; }

  /// Policy `policy` against `versus` (an index, or kLoggingPolicy) on one term.
  [[nodiscard]] PairedDifference Compare(size_t policy, size_t versus, Estimator estimator,
                                         size_t term = 0) const;

  /// Held-out share of the variance the outcome model explains, a term.
  [[nodiscard]] const std::vector<double>& outcome_r_squared() const { return r_squared_; }

 private:
  /// One policy at one bandwidth: where its sums stand among the columns of the bootstrap.
  struct Variant {
    double bandwidth = 0.0;
    double ess = 0.0;
    double max = 0.0;
    double clipped = 0.0;  // sum of weights beyond the clip
    size_t weight = 0;     // column
    size_t first = 0;      // column; 3 a term: w r, q(s, pi), doubly robust
  };
  /// Of one policy: as asked for, and with a kernel also at half and at twice the bandwidth (these
  /// two for the total only).
  using Variants = std::vector<Variant>;
  class Builder;

  [[nodiscard]] static RatioOfSums RatioFor(const Variant& variant, Estimator estimator,
                                            size_t term);
  [[nodiscard]] PolicyEstimate Summarise(const PolicyLaws& policy, const LoggedDraws& draws,
                                         const Variants& variants,
                                         const EstimateOptions& options) const;
  [[nodiscard]] WeightDiagnostics Diagnose(const Variant& variant, size_t rows) const;

  std::vector<Variants> variants_;
  std::vector<PolicyEstimate> policies_;
  std::vector<Interval> logging_means_;
  std::vector<double> r_squared_;
  ClusterBootstrap bootstrap_;
};

/// A constant action and what each candidate scored.
struct ConstantChoice {
  double action = 0.0;
  std::vector<double> values;  ///< Doubly robust mean total, in the order of the grid.
};

/// The actions a best constant is chosen from: -1, -0.9, ..., 1.
[[nodiscard]] std::vector<double> ConstantGrid();

/// The constant action of `grid` with the highest doubly robust total on these (training) draws;
/// the one nearest 0 among equals. Its value here is optimistic: judge it elsewhere.
[[nodiscard]] ConstantChoice BestConstant(const LoggedDraws& draws, std::span<const double> grid,
                                          const EstimateOptions& options = {});

/// The law of a policy that always plays `action`, a row each.
[[nodiscard]] PolicyLaws ConstantPolicy(std::string name, double action, size_t rows);

}  // namespace kernelx
