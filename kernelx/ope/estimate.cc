// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "kernelx/ground/error.h"
#include "kernelx/ground/parallel.h"

namespace kernelx {
namespace {

constexpr size_t kRowColumn = 0;  // counts rows; the logged rewards follow, one column a term
constexpr size_t kPerTerm = 3;
constexpr double kMeanWeightSigmas = 3.3;
constexpr std::array<double, 3> kBandwidthScales = {1.0, 0.5, 2.0};
constexpr std::array<size_t, 3> kByBandwidth = {1, 0, 2};  // their ascending order
constexpr std::array<std::string_view, 4> kEstimatorNames = {"ips", "snips", "model", "dr"};
constexpr std::array<std::string_view, 4> kVerdictWords = {"better", "worse", "not distinguishable",
                                                           "not evaluable"};

void CheckOptions(const EstimateOptions& options) {
  if (!(options.bandwidth > 0.0 && options.bandwidth <= 1.0)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("ope.OffPolicyEstimator: bandwidth is {}; it must be in (0, 1]",
                            options.bandwidth));
  }
  if (!(options.clip > 0.0)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("ope.OffPolicyEstimator: clip is {}; it must be above 0", options.clip));
  }
  if (options.bootstrap.replicates < 100) {
    throw Error(ErrorCode::kUsage,
                fmt::format("ope.OffPolicyEstimator: {} replicates cannot give a 95 % interval; "
                            "take 100 or more",
                            options.bootstrap.replicates));
  }
}

void CheckLaws(const PolicyLaws& policy, size_t rows) {
  if (policy.laws.size() == rows) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("ope.OffPolicyEstimator: policy '{}' has {} laws for {} rows; give one "
                          "a row",
                          policy.name, policy.laws.size(), rows));
}

bool SameLaw(const ActionLaw& a, const ActionLaw& b) {
  return a.kind == b.kind && a.center == b.center && a.log_std == b.log_std;
}

/// Weights of the logged actions and expected bases of a policy, a row each.
struct LawTable {
  std::vector<double> weight;
  std::vector<ActionBasis> expected;

  LawTable(const LoggedDraws& draws, const PolicyLaws& policy, double bandwidth, unsigned threads)
      : weight(draws.rows()), expected(draws.rows()) {
    ParallelFor(draws.rows(), threads, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const ActionLaw& law = policy.laws[i];
        weight[i] = ImportanceWeight(law, draws.action[i], draws.p_zero[i], bandwidth);
        const bool repeats =
            i > begin && SameLaw(law, policy.laws[i - 1]) && draws.p_zero[i] == draws.p_zero[i - 1];
        expected[i] = repeats ? expected[i - 1] : ExpectedBasis(law, draws.p_zero[i], bandwidth);
      }
    });
  }
};

Verdict VerdictOf(const Interval& diff) {
  if (diff.lo > 0.0) return Verdict::kBetter;
  if (diff.hi < 0.0) return Verdict::kWorse;
  return Verdict::kNotDistinguishable;
}

}  // namespace

std::string_view EstimatorName(Estimator estimator) {
  return kEstimatorNames[static_cast<size_t>(estimator)];
}

std::string_view VerdictWord(Verdict verdict) {
  return kVerdictWords[static_cast<size_t>(verdict)];
}

/// Lays out the columns of the bootstrap and fills them with the sums of each cluster.
class OffPolicyEstimator::Builder {
 public:
  Builder(const LoggedDraws& draws, std::span<const PolicyLaws> policies,
          const EstimateOptions& options, const OutcomeModel& outcome)
      : draws_(draws),
        options_(options),
        outcome_(outcome),
        clusters_(Clusters::Of(draws.cluster)),
        columns_(1 + draws.rewards.size()) {
    for (const PolicyLaws& policy : policies) variants_.push_back(Layout(policy));
    sums_.assign(clusters_.count * columns_, 0.0);
    for (size_t i = 0; i < draws.rows(); ++i) {
      double* row = RowOf(i);
      row[kRowColumn] += 1.0;
      for (size_t t = 0; t < draws.rewards.size(); ++t) row[1 + t] += draws.rewards[t].value[i];
    }
    for (size_t p = 0; p < policies.size(); ++p) {
      for (size_t v = 0; v < variants_[p].size(); ++v) {
        Fill(policies[p], v == 0 ? draws.rewards.size() : 1, variants_[p][v]);
      }
    }
  }

  std::vector<Variants> TakeVariants() { return std::move(variants_); }
  std::vector<double> TakeSums() { return std::move(sums_); }
  [[nodiscard]] size_t columns() const { return columns_; }

 private:
  Variants Layout(const PolicyLaws& policy) {
    bool kernel = false;
    for (size_t i = 0; i < draws_.rows() && !kernel; ++i) {
      kernel = UsesKernel(policy.laws[i], draws_.p_zero[i]);
    }
    Variants variants(kernel ? kBandwidthScales.size() : 1);
    for (size_t v = 0; v < variants.size(); ++v) {
      const size_t terms = v == 0 ? draws_.rewards.size() : 1;
      variants[v].bandwidth = kBandwidthScales[v] * options_.bandwidth;
      variants[v].weight = columns_;
      variants[v].first = columns_ + 1;
      columns_ += 1 + kPerTerm * terms;
    }
    return variants;
  }

  void Fill(const PolicyLaws& policy, size_t terms, Variant& variant) {
    const LawTable table(draws_, policy, variant.bandwidth, options_.threads);
    double sum = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < draws_.rows(); ++i) {
      const double w = table.weight[i];
      const double kept = std::min(w, options_.clip);
      sum += w;
      squares += w * w;
      variant.max = std::max(variant.max, w);
      variant.clipped += w - kept;
      const ActionBasis logged = BasisAt(draws_.action[i]);
      double* row = RowOf(i);
      row[variant.weight] += w;
      double* out = row + variant.first;
      for (size_t t = 0; t < terms; ++t, out += kPerTerm) {
        const double reward = draws_.rewards[t].value[i];
        const double direct = outcome_.Value(i, t, table.expected[i]);
        out[0] += w * reward;
        out[1] += direct;
        out[2] += direct + kept * (reward - outcome_.Value(i, t, logged));
      }
    }
    variant.ess = squares > 0.0 ? sum * sum / squares : 0.0;
  }

  double* RowOf(size_t i) { return &sums_[clusters_.of_row[i] * columns_]; }

  const LoggedDraws& draws_;
  const EstimateOptions& options_;
  const OutcomeModel& outcome_;
  Clusters clusters_;
  size_t columns_;
  std::vector<double> sums_;
  std::vector<Variants> variants_;
};

OffPolicyEstimator::OffPolicyEstimator(const LoggedDraws& draws,
                                       std::span<const PolicyLaws> policies,
                                       const EstimateOptions& options) {
  CheckOptions(options);
  draws.Validate();
  for (const PolicyLaws& policy : policies) CheckLaws(policy, draws.rows());
  const OutcomeModel outcome = OutcomeModel::Fit(draws, options.outcome);
  r_squared_ = outcome.r_squared();
  Builder builder(draws, policies, options, outcome);
  variants_ = builder.TakeVariants();
  bootstrap_ = ClusterBootstrap(builder.TakeSums(), builder.columns(), options.bootstrap);
  for (size_t t = 0; t < draws.rewards.size(); ++t) {
    logging_means_.push_back(bootstrap_.Estimate({.numerator = 1 + t, .denominator = kRowColumn}));
  }
  for (size_t p = 0; p < policies.size(); ++p) {
    policies_.push_back(Summarise(policies[p], draws, variants_[p], options));
  }
}

RatioOfSums OffPolicyEstimator::RatioFor(const Variant& variant, Estimator estimator, size_t term) {
  const size_t first = variant.first + kPerTerm * term;
  switch (estimator) {
    case Estimator::kIps:
      return {.numerator = first, .denominator = kRowColumn};
    case Estimator::kSnips:
      return {.numerator = first, .denominator = variant.weight};
    case Estimator::kDm:
      return {.numerator = first + 1, .denominator = kRowColumn};
    case Estimator::kDr:
      break;
  }
  return {.numerator = first + 2, .denominator = kRowColumn};
}

WeightDiagnostics OffPolicyEstimator::Diagnose(const Variant& variant, size_t rows) const {
  WeightDiagnostics d;
  d.rows = rows;
  d.mean = bootstrap_.Estimate({.numerator = variant.weight, .denominator = kRowColumn});
  d.mean_covers_one = d.mean.lo <= 1.0 + 1e-9 && d.mean.hi >= 1.0 - 1e-9;
  d.ess = variant.ess;
  d.max = variant.max;
  double squares = 0.0;
  double largest = 0.0;
  for (size_t c = 0; c < bootstrap_.clusters(); ++c) {
    const double sum = bootstrap_.Sum(c, variant.weight);
    if (sum > 0.0) ++d.clusters;
    squares += sum * sum;
    largest = std::max(largest, sum);
  }
  const double total = bootstrap_.Total(variant.weight);
  if (total > 0.0) {
    d.cluster_ess = total * total / squares;
    d.largest_cluster_share = largest / total;
    d.clipped_mass = variant.clipped / total;
  }
  return d;
}

PolicyEstimate OffPolicyEstimator::Summarise(const PolicyLaws& policy, const LoggedDraws& draws,
                                             const Variants& variants,
                                             const EstimateOptions& options) const {
  const Variant& main = variants[0];
  PolicyEstimate result;
  result.name = policy.name;
  for (size_t t = 0; t < draws.rewards.size(); ++t) {
    result.terms.push_back({.name = draws.rewards[t].name,
                            .ips = bootstrap_.Estimate(RatioFor(main, Estimator::kIps, t)),
                            .snips = bootstrap_.Estimate(RatioFor(main, Estimator::kSnips, t)),
                            .dm = bootstrap_.Estimate(RatioFor(main, Estimator::kDm, t)),
                            .dr = bootstrap_.Estimate(RatioFor(main, Estimator::kDr, t))});
  }
  if (variants.size() > 1) {
    for (const size_t v : kByBandwidth) {
      result.bandwidths.push_back(
          {.bandwidth = variants[v].bandwidth,
           .ess = variants[v].ess,
           .snips = bootstrap_.Estimate(RatioFor(variants[v], Estimator::kSnips, 0)),
           .dr = bootstrap_.Estimate(RatioFor(variants[v], Estimator::kDr, 0))});
    }
  }
  result.weights = Diagnose(main, draws.rows());
  const WeightDiagnostics& w = result.weights;
  const RatioOfSums mean = {.numerator = main.weight, .denominator = kRowColumn};
  const double tolerance = kMeanWeightSigmas * bootstrap_.StandardError(mean) + 1e-9;
  if (!(w.ess >= options.min_ess)) {
    result.why = fmt::format(
        "effective sample size {:.0f} of {} rows is below {:.0f}: the log "
        "holds too few actions like this policy's",
        w.ess, w.rows, options.min_ess);
  } else if (w.clusters < options.min_clusters) {
    result.why = fmt::format("{} clusters, fewer than {}", w.clusters, options.min_clusters);
  } else if (!(std::abs(w.mean.value - 1.0) <= tolerance)) {
    result.why = fmt::format(
        "mean weight {:.3f} [{:.3f}, {:.3f}] is not 1: the logged "
        "propensities are wrong",
        w.mean.value, w.mean.lo, w.mean.hi);
  }
  result.evaluable = result.why.empty();
  return result;
}

PairedDifference OffPolicyEstimator::Compare(size_t policy, size_t versus, Estimator estimator,
                                             size_t term) const {
  const bool logging = versus == kLoggingPolicy;
  const auto difference = [&](size_t variant) {
    const auto pick = [&](size_t p) -> const Variant& {
      return variants_[p][std::min(variant, variants_[p].size() - 1)];
    };
    const RatioOfSums base = logging ? RatioOfSums{.numerator = 1 + term, .denominator = kRowColumn}
                                     : RatioFor(pick(versus), estimator, term);
    return bootstrap_.Estimate(RatioFor(pick(policy), estimator, term), base);
  };
  PairedDifference result;
  result.diff = difference(0);
  result.ess = policies_[policy].weights.ess;
  if (!logging) result.ess = std::min(result.ess, policies_[versus].weights.ess);
  for (const size_t p : {policy, versus}) {
    if (p == kLoggingPolicy || policies_[p].evaluable || !result.why.empty()) continue;
    result.why = fmt::format("{}: {}", policies_[p].name, policies_[p].why);
  }
  result.evaluable = result.why.empty();
  result.verdict = result.evaluable ? VerdictOf(result.diff) : Verdict::kNotEvaluable;
  const bool kernel = variants_[policy].size() > 1 || (!logging && variants_[versus].size() > 1);
  if (kernel && term == 0) {
    const Variants& v = variants_[policy].size() > 1 ? variants_[policy] : variants_[versus];
    for (const size_t i : kByBandwidth) {
      result.bandwidths.push_back({.bandwidth = v[i].bandwidth, .diff = difference(i)});
    }
  }
  return result;
}

std::vector<double> ConstantGrid() {
  std::vector<double> grid;
  for (int i = -10; i <= 10; ++i) grid.push_back(i / 10.0);
  return grid;
}

ConstantChoice BestConstant(const LoggedDraws& draws, std::span<const double> grid,
                            const EstimateOptions& options) {
  CheckOptions(options);
  draws.Validate();
  if (grid.empty())
    throw Error(ErrorCode::kUsage, "ope.BestConstant: the grid of actions is empty");
  const OutcomeModel outcome = OutcomeModel::Fit(draws, options.outcome);
  ConstantChoice choice;
  std::optional<double> best;
  for (const double action : grid) {
    const LawTable table(draws, ConstantPolicy("", action, draws.rows()), options.bandwidth,
                         options.threads);
    double sum = 0.0;
    for (size_t i = 0; i < draws.rows(); ++i) {
      sum += outcome.Value(i, 0, table.expected[i]) +
             std::min(table.weight[i], options.clip) *
                 (draws.rewards[0].value[i] - outcome.Value(i, 0, BasisAt(draws.action[i])));
    }
    const double value = sum / static_cast<double>(draws.rows());
    choice.values.push_back(value);
    const bool nearer = best && value == *best && std::abs(action) < std::abs(choice.action);
    if (best && !(value > *best) && !nearer) continue;
    best = value;
    choice.action = action;
  }
  return choice;
}

PolicyLaws ConstantPolicy(std::string name, double action, size_t rows) {
  return {.name = std::move(name), .laws = std::vector<ActionLaw>(rows, {.center = action})};
}

}  // namespace kernelx
