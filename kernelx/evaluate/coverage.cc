// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/coverage.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernelx/env/reward.h"
#include "kernelx/env/runqueue_episode.h"
#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"
#include "kernelx/ope/draws.h"
#include "kernelx/ope/estimate.h"
#include "kernelx/policy/rules.h"
#include "kernelx/preprocess/preprocess.h"

namespace kernelx {
namespace {

class SoftPolicy final : public Policy {
 public:
  SoftPolicy(RulePolicy rule, double spread) : rule_(std::move(rule)), spread_(spread) {}
  [[nodiscard]] std::string name() const override { return "soft-" + rule_.name(); }
  void Bind(std::span<const std::string> names) override { rule_.Bind(names); }
  [[nodiscard]] ActionLaw Law(std::span<const double> features) const override {
    return {.kind = ActionLaw::Kind::kTanhGaussian,
            .center = std::atanh(0.8 * rule_.Law(features).center),
            .log_std = std::log(spread_)};
  }

 private:
  RulePolicy rule_;
  double spread_;
};

/// Sums over the decisions of one load.
struct Sums {
  double policy = 0.0, logging = 0.0, decisions = 0.0;
};

double Total(const Reward& reward, const Outcome& outcome, double action, double standing) {
  double terms[Reward::kMaxTerms];
  reward.FromOutcome(outcome, terms);
  reward.FromAction(action, standing, terms + reward.outcome_terms());
  double total = 0.0;
  for (size_t t = 0; t < reward.terms().size(); ++t) total += terms[t];
  return total;
}

/// A ratio of sums and its standard error, clustered by load.
Interval Ratio(const std::vector<Sums>& loads, double Sums::*numerator) {
  double sum = 0.0;
  double count = 0.0;
  for (const Sums& s : loads) {
    sum += s.*numerator;
    count += s.decisions;
  }
  const double mean = sum / count;
  double squares = 0.0;
  for (const Sums& s : loads) {
    const double residual = s.*numerator - mean * s.decisions;
    squares += residual * residual;
  }
  const auto n = static_cast<double>(loads.size());
  const double se = std::sqrt(squares * n / (n - 1)) / count;
  return {.value = mean, .lo = mean - se, .hi = mean + se};
}

/// How many of `total` tasks fall into each of the shares (which add up to `total`) by lot.
std::vector<int> ByLot(std::span<const int> shares, int total, Rng& rng) {
  std::vector<int> counts(shares.size(), 0);
  for (int i = 0; i < total; ++i) {
    auto lot = static_cast<int>(rng.Below(static_cast<uint64_t>(total)));
    size_t kind = 0;
    while (lot >= shares[kind]) lot -= shares[kind++];
    ++counts[kind];
  }
  return counts;
}

LoadCounts CountsOf(CoverageDesign design, uint64_t seed) {
  const LoadCounts mix;
  if (design == CoverageDesign::kMix) return mix;
  if (design == CoverageDesign::kSample) {
    return {.periodic = 30,
            .servers = 30,
            .hogs = 4,
            .crowd = 8,
            .messages = 2,
            .shortest_us = 5000.0,
            .most_work = 0.03,
            .watch_background = false};
  }
  Rng rng(seed, 10);
  const std::vector<int> shares = {mix.periodic, mix.servers, mix.hogs, mix.crowd};
  const auto counts = ByLot(shares, std::accumulate(shares.begin(), shares.end(), 0), rng);
  // One of a crowd alone has nobody to write to.
  const int crowd = counts[3] == 1 ? 2 : counts[3];
  return {.periodic = counts[0],
          .servers = counts[1],
          .hogs = counts[2],
          .crowd = crowd,
          .messages = std::max(1, mix.messages * crowd / mix.crowd)};
}

class Experiment {
 public:
  explicit Experiment(const CoverageOptions& options)
      : options_(options),
        policy_(SoftInteractive(options.spread)),
        reward_(MakeReward("balanced")),
        set_(FeatureSet::Extended()) {
    policy_->Bind(set_.names());
  }

  /// What the draws of one load are worth with the policy's action in their place.
  [[nodiscard]] Sums Truth(size_t index) const {
    const uint64_t seed = MixSeed(options_.seed, 1'000'000 + index);
    Rng rng(seed, 7);
    RunQueueEpisode machine(Load(seed), seed, options_.law, set_);
    const int64_t end = machine.machine().now_ns() + Ns(options_.truth_seconds);
    Sums sums;
    for (uint64_t draw = rng.Below(options_.truth_every);; ++draw) {
      machine.ToDraw();
      if (machine.machine().now_ns() >= end) return sums;
      if (draw % options_.truth_every != 0) continue;
      // The luck of what follows is not that of the recording, which goes on behind.
      RunQueueEpisode logged = machine;
      logged.Reseed(rng.Bits());
      RunQueueEpisode deviates = logged;
      const double action = policy_->Law(machine.features()).Sample(rng);
      const double standing = machine.standing();
      sums.logging += Total(*reward_, logged.Decide(machine.logged_action(), options_.hold),
                            machine.logged_action(), standing);
      sums.policy += Total(*reward_, deviates.Decide(action, options_.hold), action, standing);
      sums.decisions += 1.0;
    }
  }

  /// All tasks follow the policy, a decision each `hold` events.
  [[nodiscard]] Sums RollOut(size_t index) const {
    const uint64_t seed = MixSeed(options_.seed, 1'000'000 + index);
    const auto load = Load(seed);
    struct Pending {
      OutcomeSum sum;
      double action = 0.0, standing = 0.0;
      bool begun = false;
    };
    std::vector<Pending> pending(load->tasks.size());
    FeatureExtractor extractor(set_);
    std::vector<double> features(set_.size());
    Rng rng(seed, 8);
    RunQueueRecorder recorder(load, seed, options_.law);
    Sums sums;
    const int64_t begin = recorder.machine().now_ns() + Ns(1.0);
    recorder.SetPilot([&](uint32_t task, const RawState& event, double standing) {
      extractor.Observe(event, standing, features);
      Pending& p = pending[task];
      std::optional<double> action;
      if (!p.begun || p.sum.events() + 1 == options_.hold) {
        action = policy_->Law(features).Sample(rng);
      }
      return action;
    });
    while (recorder.machine().now_ns() < begin + Ns(options_.truth_seconds)) {
      const RawTransition* row = recorder.Next();
      Pending& p = pending[recorder.task()];
      if (row != nullptr) p.sum.Add(*row);
      const bool whole = p.sum.events() == options_.hold;
      if (whole && recorder.machine().now_ns() >= begin) {
        sums.policy += Total(*reward_, p.sum.Result(), p.action, p.standing);
        sums.decisions += 1.0;
      }
      if (whole || !p.begun) {
        p = {
            .sum = {}, .action = recorder.action(), .standing = recorder.standing(), .begun = true};
      }
    }
    return sums;
  }

  struct Judged {
    Interval value, gain, replay, replay_gain;
    double rows = 0.0, ess = 0.0, events = 0.0;
  };

  /// One recording, judged as a real one is.
  [[nodiscard]] Judged Repetition(size_t index) const {
    const uint64_t seed = MixSeed(options_.seed, index);
    const auto rows = RecordRunQueue(Load(seed), seed, options_.seconds, options_.law);
    const Dataset data = ExtractFeatures(rows, set_, "runqueue");
    const Trajectories trajectories(data, Order::kTask);
    const CollectedDraws collected =
        CollectDraws(data, trajectories, *reward_, options_.hold, DrawScope::kIntentionToTreat);
    PolicyLaws laws{.name = policy_->name(), .laws = {}};
    for (const uint32_t row : collected.rows) laws.laws.push_back(policy_->Law(data.state(row)));
    EstimateOptions estimate;
    estimate.threads = estimate.bootstrap.threads = estimate.outcome.threads = 1;
    const OffPolicyEstimator judge(collected.draws, {&laws, 1}, estimate);
    const PolicyEstimate& policy = judge.policies().front();
    const auto [replay, replay_gain] = Replay(data, collected, laws, seed);
    return {.value = policy.terms.front().dr,
            .gain = judge.Compare(0, OffPolicyEstimator::kLoggingPolicy, Estimator::kDr).diff,
            .replay = replay,
            .replay_gain = replay_gain,
            .rows = static_cast<double>(collected.rows.size()),
            .ess = policy.weights.ess,
            .events = static_cast<double>(data.size())};
  }

 private:
  static int64_t Ns(double seconds) { return std::llround(seconds * 1e9); }

  [[nodiscard]] std::shared_ptr<const RunQueueLoad> Load(uint64_t seed) const {
    return std::make_shared<const RunQueueLoad>(MixedLoad(seed, CountsOf(options_.design, seed)));
  }

  /// What `replay` would pay, and less what was logged: the recorded outcome, whatever the policy
  /// did.
  [[nodiscard]] std::pair<Interval, Interval> Replay(const Dataset& data,
                                                     const CollectedDraws& collected,
                                                     const PolicyLaws& laws, uint64_t seed) const {
    const Clusters clusters = Clusters::Of(collected.draws.cluster);
    std::vector<double> sums(3 * clusters.count, 0.0);
    const int column = set_.Find("previous_action");
    Rng rng(seed, 9);
    for (size_t i = 0; i < collected.rows.size(); ++i) {
      const double standing = data.state(collected.rows[i])[static_cast<size_t>(column)];
      double terms[Reward::kMaxTerms];
      reward_->FromAction(laws.laws[i].Sample(rng), standing, terms);
      double total = 0.0;
      for (size_t t = 0; t < reward_->terms().size(); ++t) {
        total += t < reward_->outcome_terms() ? collected.draws.rewards[t + 1].value[i]
                                              : terms[t - reward_->outcome_terms()];
      }
      double* of_cluster = &sums[3 * clusters.of_row[i]];
      of_cluster[0] += total;
      of_cluster[1] += total - collected.draws.rewards[0].value[i];
      of_cluster[2] += 1.0;
    }
    const ClusterBootstrap bootstrap(std::move(sums), 3, {.threads = 1});
    return {bootstrap.Estimate({.numerator = 0, .denominator = 2}),
            bootstrap.Estimate({.numerator = 1, .denominator = 2})};
  }

  CoverageOptions options_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Reward> reward_;
  FeatureSet set_;
};

Covered Count(double truth, double truth_se, const std::vector<Experiment::Judged>& judged,
              Interval Experiment::Judged::*which) {
  Covered out{.truth = truth, .truth_se = truth_se, .repetitions = judged.size()};
  double squares = 0.0;
  const auto n = static_cast<double>(judged.size());
  for (const auto& j : judged) {
    const Interval& interval = j.*which;
    out.mean += interval.value / n;
    squares += interval.value * interval.value / n;
    out.half_width += (interval.hi - interval.lo) / 2 / n;
    out.covered += interval.lo <= truth && truth <= interval.hi ? 1 : 0;
  }
  out.sd = std::sqrt(std::max(0.0, squares - out.mean * out.mean));
  return out;
}

}  // namespace

std::string_view CoverageDesignName(CoverageDesign design) {
  switch (design) {
    case CoverageDesign::kSample:
      return "sample";
    case CoverageDesign::kMix:
      return "mix";
    case CoverageDesign::kMixByLot:
      return "mix-by-lot";
  }
  return "";
}

std::unique_ptr<Policy> SoftInteractive(double spread) {
  return std::make_unique<SoftPolicy>(MakeInteractivePolicy(), spread);
}

CoverageResult MeasureCoverage(const CoverageOptions& options,
                               const std::function<void(size_t)>& progress) {
  const Experiment experiment(options);
  std::vector<Sums> truth(options.truth_loads);
  std::vector<Sums> roll_out(options.truth_loads);
  ParallelFor(options.truth_loads, options.threads, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      truth[i] = experiment.Truth(i);
      roll_out[i] = experiment.RollOut(i);
    }
  });
  std::vector<Experiment::Judged> judged(options.repetitions);
  std::atomic<size_t> done = 0;
  std::mutex reporting;
  ParallelFor(options.repetitions, options.threads, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      judged[i] = experiment.Repetition(i);
      const size_t count = ++done;
      const std::lock_guard lock(reporting);
      if (progress) progress(count);
    }
  });
  CoverageResult result;
  const Interval value = Ratio(truth, &Sums::policy);
  result.logging = Ratio(truth, &Sums::logging).value;
  std::vector<Sums> gains = truth;
  for (Sums& s : gains) s.policy -= s.logging;
  const Interval gain = Ratio(gains, &Sums::policy);
  const Interval everywhere = Ratio(roll_out, &Sums::policy);
  result.roll_out = everywhere.value;
  result.roll_out_se = everywhere.hi - everywhere.value;
  result.value = Count(value.value, value.hi - value.value, judged, &Experiment::Judged::value);
  result.gain = Count(gain.value, gain.hi - gain.value, judged, &Experiment::Judged::gain);
  result.replay = Count(value.value, value.hi - value.value, judged, &Experiment::Judged::replay);
  result.replay_gain =
      Count(gain.value, gain.hi - gain.value, judged, &Experiment::Judged::replay_gain);
  for (const auto& j : judged) {
    const auto n = static_cast<double>(judged.size());
    result.rows += j.rows / n;
    result.ess += j.ess / n;
    result.events += j.events / n;
  }
  return result;
}

}  // namespace kernelx
