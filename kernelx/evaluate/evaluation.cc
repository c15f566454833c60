// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "kernelx/env/scenario.h"
#include "kernelx/env/vector_env.h"
#include "kernelx/evaluate/profile.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"
#include "kernelx/policy/registry.h"

namespace kernelx {
namespace {

constexpr const char* kBaselines[] = {"none", "random", "heuristic", "interactive",
                                      "best-constant"};
constexpr const char* kBestConstant = "best-constant";
constexpr size_t kModelRows = 4096;
constexpr size_t kProfileRows = 40000;
constexpr double kLate = 0.8;  // the time split: draws after this share of them
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr Interval kUnknown{.value = kNaN, .lo = kNaN, .hi = kNaN};

using Policies = std::vector<std::unique_ptr<Policy>>;

/// A policy under another name: the constant that was chosen.
class Renamed final : public Policy {
 public:
  Renamed(std::string name, std::unique_ptr<Policy> policy)
      : name_(std::move(name)), policy_(std::move(policy)) {}
  std::string name() const override { return name_; }
  void Bind(std::span<const std::string> names) override { policy_->Bind(names); }
  ActionLaw Law(std::span<const double> features) const override { return policy_->Law(features); }

 private:
  std::string name_;
  std::unique_ptr<Policy> policy_;
};

LoggedDraws Subset(const LoggedDraws& all, const std::vector<size_t>& chosen) {
  LoggedDraws out;
  out.feature_count = all.feature_count;
  for (const RewardTerm& term : all.rewards)
    out.rewards.push_back({.name = term.name, .value = {}});
  for (const size_t i : chosen) {
    out.action.push_back(all.action[i]);
    out.p_zero.push_back(all.p_zero[i]);
    out.cluster.push_back(all.cluster[i]);
    for (size_t t = 0; t < all.rewards.size(); ++t) {
      out.rewards[t].value.push_back(all.rewards[t].value[i]);
    }
    const auto begin = all.features.begin() + static_cast<ptrdiff_t>(i * all.feature_count);
    out.features.insert(out.features.end(), begin,
                        begin + static_cast<ptrdiff_t>(all.feature_count));
  }
  return out;
}

std::vector<PolicyLaws> LawsAt(const Policies& policies, const Dataset& data,
                               const std::vector<uint32_t>& rows) {
  std::vector<PolicyLaws> laws;
  for (const auto& policy : policies) {
    PolicyLaws one{.name = policy->name(), .laws = {}};
    for (const uint32_t row : rows) one.laws.push_back(policy->Law(data.state(row)));
    laws.push_back(std::move(one));
  }
  return laws;
}

size_t IndexOf(const Policies& policies, const std::string& name) {
  const auto found =
      std::ranges::find_if(policies, [&](const auto& p) { return p->name() == name; });
  return static_cast<size_t>(found - policies.begin());
}

EstimateOptions Options(const EvaluationOptions& options) {
  EstimateOptions out;
  out.threads = options.threads;
  out.bootstrap.threads = options.threads;
  out.bootstrap.seed = options.seed + 1;
  out.outcome.threads = options.threads;
  return out;
}

/// Every policy against every baseline by the given estimators.
std::vector<PairedRow> Pair(const OffPolicyEstimator& estimator, const Policies& policies,
                            std::initializer_list<Estimator> estimators) {
  std::vector<PairedRow> rows;
  for (size_t p = 0; p < policies.size(); ++p) {
    for (const char* baseline : kBaselines) {
      const size_t versus = IndexOf(policies, baseline);
      if (versus == p) continue;
      for (const Estimator kind : estimators) {
        const PairedDifference d = estimator.Compare(p, versus, kind);
        rows.push_back({.policy = policies[p]->name(),
                        .versus = baseline,
                        .estimator = std::string(EstimatorName(kind)),
                        .diff = d.diff,
                        .ess = d.ess,
                        .evaluable = d.evaluable,
                        .why = d.why,
                        .verdict = std::string(VerdictWord(d.verdict))});
      }
    }
  }
  return rows;
}

/// One decision of every policy at the same recorded states, answered by the dynamics.
class ModelOpinion {
 public:
  ModelOpinion(const Dataset& data, const CollectedDraws& collected,
               const EvaluationOptions& options)
      : options_(options),
        scenario_(std::make_shared<const Scenario>(
            data, ScenarioOptions{.dynamics = options.dynamics,
                                  .reward = options.reward,
                                  .reward_options = options.reward_options,
                                  .hold = options.hold,
                                  .max_steps = 1,
                                  .threads = options.threads})) {
    const size_t stride = std::max<size_t>(1, collected.rows.size() / kModelRows);
    std::vector<uint64_t> tasks;
    for (size_t i = 0; i < collected.rows.size(); i += stride) {
      rows_.push_back(collected.rows[i]);
      tasks.push_back(collected.draws.cluster[i]);
    }
    clusters_ = Clusters::Of(tasks);
  }

  /// Mean total and terms; keeps the totals for pairing.
  std::vector<double> Score(const Policy& policy) {
    VectorEnv env(scenario_, rows_.size(), options_.seed, AutoReset::kOff, options_.threads);
    std::vector<double> actions;
    Rng rng(options_.seed, 11);  // the same luck for every policy
    for (size_t i = 0; i < rows_.size(); ++i) {
      env.Reset(i, rows_[i]);
      actions.push_back(policy.Law(env.features(i)).Sample(rng));
    }
    env.Step(actions);
    totals_.emplace_back(env.total().begin(), env.total().end());
    std::vector<double> means{Mean(env.total())};
    for (size_t t = 0; t < scenario_->reward().terms().size(); ++t) {
      means.push_back(Mean(env.term(t)));
    }
    return means;
  }

  /// Difference of two policies in order of `Score`, resampling tasks.
  Interval Difference(size_t a, size_t b) const {
    std::vector<double> sums(clusters_.count * 2, 0.0);
    for (size_t i = 0; i < rows_.size(); ++i) {
      sums[clusters_.of_row[i] * 2] += totals_[a][i] - totals_[b][i];
      sums[clusters_.of_row[i] * 2 + 1] += 1.0;
    }
    return ClusterBootstrap(std::move(sums), 2, {.seed = options_.seed + 1})
        .Estimate({.numerator = 0, .denominator = 1});
  }
  [[nodiscard]] size_t states() const { return rows_.size(); }

 private:
  static double Mean(std::span<const double> values) {
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }

  const EvaluationOptions& options_;
  std::shared_ptr<const Scenario> scenario_;
  std::vector<uint32_t> rows_;
  Clusters clusters_;
  std::vector<std::vector<double>> totals_;
};

void AddModelRows(const Dataset& data, const CollectedDraws& collected, const Policies& policies,
                  const EvaluationOptions& options, Evaluation& out) {
  ModelOpinion model(data, collected, options);
  for (size_t p = 0; p < policies.size(); ++p) {
    out.policies[p].model_terms = model.Score(*policies[p]);
  }
  for (size_t p = 0; p < policies.size(); ++p) {
    for (const char* baseline : kBaselines) {
      const size_t versus = IndexOf(policies, baseline);
      if (versus == p) continue;
      const Interval diff = model.Difference(p, versus);
      out.paired.push_back({.policy = policies[p]->name(),
                            .versus = baseline,
                            .estimator = "model",
                            .diff = diff,
                            .ess = static_cast<double>(model.states()),
                            .evaluable = true,
                            .why = "the dynamics' own opinion, not a logged outcome",
                            .verdict = {}});
    }
  }
}

void JudgeByLog(const Dataset& data, const CollectedDraws& collected, const Reward& reward,
                const Trajectories& trajectories, const Policies& policies,
                const EvaluationOptions& options, Evaluation& out) {
  const EstimateOptions estimate = Options(options);
  const std::vector<PolicyLaws> laws = LawsAt(policies, data, collected.rows);
  const OffPolicyEstimator all(collected.draws, laws, estimate);
  for (size_t p = 0; p < policies.size(); ++p) out.policies[p].estimate = all.policies()[p];
  out.outcome_r_squared = all.outcome_r_squared();
  out.paired = Pair(all, policies, {Estimator::kDr, Estimator::kSnips});

  const CollectedDraws in_force =
      CollectDraws(data, trajectories, reward, options.hold, DrawScope::kInForce);
  out.paired_in_force =
      Pair(OffPolicyEstimator(in_force.draws, LawsAt(policies, data, in_force.rows), estimate),
           policies, {Estimator::kDr});

  std::vector<size_t> late;
  std::vector<uint32_t> late_rows;
  std::vector<size_t> order(collected.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](size_t i) { return data.timestamp_ns()[collected.rows[i]]; });
  for (size_t k = static_cast<size_t>(kLate * static_cast<double>(order.size())); k < order.size();
       ++k) {
    late.push_back(order[k]);
    late_rows.push_back(collected.rows[order[k]]);
  }
  if (late.empty()) return;
  out.paired_late = Pair(OffPolicyEstimator(Subset(collected.draws, late),
                                            LawsAt(policies, data, late_rows), estimate),
                         policies, {Estimator::kDr});
}

/// Rows for the profile: all, or an even sample.
std::vector<uint32_t> ProfileRows(const Dataset& data) {
  std::vector<uint32_t> rows;
  const size_t stride = std::max<size_t>(1, data.size() / kProfileRows);
  for (size_t row = 0; row < data.size(); row += stride) rows.push_back(static_cast<uint32_t>(row));
  return rows;
}

/// All rows "not evaluable": what the table shows where there is nothing to judge by.
void RefuseAll(const Policies& policies, const std::string& why, Evaluation& out) {
  out.not_evaluable = why;
  for (const auto& policy : policies) {
    for (const char* baseline : kBaselines) {
      if (policy->name() == baseline) continue;
      for (const Estimator kind : {Estimator::kDr, Estimator::kSnips}) {
        out.paired.push_back({.policy = policy->name(),
                              .versus = baseline,
                              .estimator = std::string(EstimatorName(kind)),
                              .diff = kUnknown,
                              .ess = 0.0,
                              .evaluable = false,
                              .why = why,
                              .verdict = std::string(VerdictWord(Verdict::kNotEvaluable))});
      }
    }
  }
}

/// A log without draws gets only the dynamics' opinion, where a dynamics can be built from it.
void AskModelAlone(const Dataset& data, const Trajectories& trajectories, const Policies& policies,
                   const EvaluationOptions& options, Evaluation& out) {
  CollectedDraws states;
  for (uint32_t row = 0; row < data.size(); ++row) {
    if (trajectories.remaining(row) < static_cast<uint32_t>(options.hold)) continue;
    states.rows.push_back(row);
    states.draws.cluster.push_back(static_cast<uint64_t>(static_cast<uint32_t>(data.pid()[row])));
  }
  if (states.rows.empty()) return;
  try {
    AddModelRows(data, states, policies, options, out);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
  }
}

}  // namespace

Evaluation Evaluate(const Dataset& data, Policies candidates, const EvaluationOptions& options) {
  const auto reward = MakeReward(options.reward, options.reward_options);
  const Trajectories trajectories(data, Order::kTask);
  Evaluation out;
  out.data = data.source();
  out.dynamics = options.dynamics;
  out.reward = options.reward;
  out.hold = options.hold;
  out.term_names = {"total"};
  for (const auto term : reward->terms()) out.term_names.emplace_back(term);

  std::optional<CollectedDraws> collected;
  std::string refused;
  try {
    collected = CollectDraws(data, trajectories, *reward, options.hold, options.scope);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
    refused = error.what();
  }
  out.best_constant_from_training = options.best_constant.has_value();
  out.best_constant = options.best_constant ? *options.best_constant
                      : collected
                          ? BestConstant(collected->draws, ConstantGrid(), Options(options)).action
                          : 0.0;

  Policies policies = std::move(candidates);
  for (const char* name : {"none", "random", "heuristic", "interactive"}) {
    const auto same = [&](const auto& p) { return p->name() == name; };
    if (std::ranges::none_of(policies, same)) policies.push_back(MakePolicy(name));
  }
  policies.push_back(std::make_unique<Renamed>(
      kBestConstant, MakePolicy(fmt::format("constant:{}", out.best_constant))));
  const std::vector<uint32_t> profile_rows = ProfileRows(data);
  for (const auto& policy : policies) {
    policy->Bind(data.feature_names());
    PolicyScore score;
    score.estimate.name = policy->name();
    score.profile = Profile(*policy, data, profile_rows);
    out.policies.push_back(std::move(score));
  }
  if (!collected) {
    RefuseAll(policies, refused, out);
    AskModelAlone(data, trajectories, policies, options, out);
    return out;
  }
  out.rows = collected->rows.size();
  out.tasks = Clusters::Of(collected->draws.cluster).count;
  out.group_draws = collected->group_draws;
  out.short_ones = collected->short_ones;
  JudgeByLog(data, *collected, *reward, trajectories, policies, options, out);
  AddModelRows(data, *collected, policies, options, out);
  return out;
}

}  // namespace kernelx
