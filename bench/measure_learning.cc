// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/timing.h"
#include "kernelx/ground/rng.h"
#include "kernelx/policy/mlp_policy.h"
#include "kernelx/preprocess/feature_set.h"
#include "kernelx/train/grpo_trainer.h"
#include "kernelx/train/scheduler_group.h"
#include "kernelx/world/fit.h"
#include "kernelx/world/judge.h"

namespace kernelx::bench {
namespace {

/// The network that `train` would begin with, before it has learnt anything.
MlpPolicy FreshPolicy(const Dataset& extended) {
  MlpPolicySpec spec;
  for (const Feature& feature : FeatureSet::Extended().features()) {
    if (feature.policy) spec.features.push_back(feature.name);
  }
  Rng rng(4);
  MlpPolicy policy(std::move(spec), {64, 64}, rng);
  policy.Bind(extended.feature_names());
  policy.FitNormaliser(extended.states(), extended.feature_count());
  return policy;
}

/// An environment that costs next to nothing: recorded states, and a reward that knows what to do.
class FreeGroup final : public GroupEnv {
 public:
  explicit FreeGroup(const Dataset& dataset) : dataset_(dataset) {}
  size_t observation_size() const override { return dataset_.feature_count(); }
  void Reset(const GroupRequest& request, std::span<double> observations) override {
    for (size_t i = 0; i < request.groups; ++i) {
      const auto state = dataset_.state((request.update * request.groups + i) % dataset_.size());
      std::ranges::copy(state, observations.subspan(i * state.size()).begin());
    }
  }
  void Step(std::span<const double> actions, std::span<double> rewards, std::span<uint8_t> done,
            std::span<double> /*observations*/) override {
    for (size_t i = 0; i < actions.size(); ++i) {
      rewards[i] = -(actions[i] - 0.3) * (actions[i] - 0.3);
    }
    std::ranges::fill(done, uint8_t{1});
  }

 private:
  const Dataset& dataset_;
};

/// States a second of updates in `env`.
double UpdateRate(const Dataset& extended, GroupEnv& env, size_t states, int epochs,
                  unsigned threads, const Session& session) {
  GrpoOptions options;
  options.states = states;
  options.epochs = epochs;
  options.threads = threads;
  options.phases = {{.updates = uint64_t{1} << 40, .horizon = 1}};
  GrpoTrainer trainer(FreshPolicy(extended), env, options);
  trainer.Update();
  return BestRate(session.repeats, session.seconds, [&] { trainer.Update(); }) *
         static_cast<double>(states);
}

}  // namespace

void MeasureDecision(const Dataset& extended, Session& session) {
  const MlpPolicy policy = FreshPolicy(extended);
  constexpr size_t kDecisions = 100'000;
  std::vector<double> seconds(kDecisions);
  double sum = 0.0;
  for (double& taken : seconds) {
    const auto state =
        extended.state(static_cast<size_t>(&taken - seconds.data()) * 7919 % extended.size());
    const double begin = NowSeconds();
    sum += policy.Law(state).Median();
    taken = NowSeconds() - begin;
  }
  const auto at = seconds.begin() + kDecisions / 100 * 99;
  std::nth_element(seconds.begin(), at, seconds.end());
  const double p99_us = *at * 1e6;
  std::nth_element(seconds.begin(), seconds.begin() + kDecisions / 2, at);
  session.rows.push_back(
      {.name = "decision: one state, p99",
       .value = p99_us,
       .unit = "us",
       .target = "<= 2 us",
       .met = p99_us <= 2.0,
       .why = fmt::format("network of {} x 64 x 64 x 2, {} rows one by one, clock included; median "
                          "{:.2f} us, mean action {:+.3f}",
                          policy.net().input_size(), kDecisions, seconds[kDecisions / 2] * 1e6,
                          sum / kDecisions)});
}

void MeasureGrpo(const Dataset& extended, Session& session) {
  for (const size_t states : {64, 1024}) {
    FreeGroup env(extended);
    session.rows.push_back(
        {.name = fmt::format("GRPO update, {} states", states),
         .value = UpdateRate(extended, env, states, 1, 1, session) / 1e3,
         .unit = "k state/s",
         .target = states == 64 ? ">= 5 x PyTorch" : ">= 1.5 x PyTorch",
         .why = "groups of 16, one pass a state, one core, environment free of charge; PyTorch is "
                "not measured yet"});
  }
  const auto scenario = std::make_shared<const Scenario>(
      extended, ScenarioOptions{.dynamics = "nearest", .reward = "balanced"});
  SchedulerGroup env(scenario, 5, 0);
  session.rows.push_back({.name = "GRPO update, nearest",
                          .value = UpdateRate(extended, env, 256, 2, 0, session) / 1e3,
                          .unit = "k state/s",
                          .why = "what `train` does: 256 groups of 16 in the environment, two "
                                 "passes, all cores"});
}

void MeasureWorld(Session& session) {
  const auto random_net = [](size_t inputs, std::vector<size_t> sizes, Rng& rng) {
    sizes.insert(sizes.begin(), inputs);
    sizes.push_back(kHeadOutputs);
    Mlp<float> net(std::move(sizes), Activation::kSilu);
    net.Initialise(rng);
    return net;
  };
  Rng rng(6);
  const WorldFitOptions options;
  WorldModel model;
  model.members.push_back(
      {.base = random_net(WorldMember::kBaseInputs, options.base_hidden, rng),
       .effect = random_net(WorldMember::kEffectInputs, options.effect_hidden, rng)});
  const ForwardRate rate = MeasureForward(model);
  session.rows.push_back(
      {.name = "World Model forward",
       .value = rate.ours,
       .unit = "GFLOP/s",
       .target = ">= 50 % sgemm",
       .met = rate.ours >= 0.5 * rate.sgemm,
       .why = fmt::format("one member in batches, one core; Eigen's product of the same shapes "
                          "runs at {:.1f} GFLOP/s here ({:.0f} %)",
                          rate.sgemm, 100.0 * rate.ours / rate.sgemm)});
}

}  // namespace kernelx::bench
