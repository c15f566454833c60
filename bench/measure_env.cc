// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/timing.h"
#include "kernelx/env/vector_env.h"
#include "kernelx/ground/rng.h"

namespace kernelx::bench {
namespace {

constexpr size_t kEnvironments = 256;

/// Steps a second of environments that start over when they end, on one core.
double StepRate(const Dataset& dataset, const ScenarioOptions& options, const Session& session) {
  const auto scenario = std::make_shared<const Scenario>(dataset, options);
  VectorEnv env(scenario, kEnvironments, 1, AutoReset::kSameStep);
  env.Reset();
  // Eight sets of actions in turn, so that no term stands still.
  constexpr size_t kSets = 8;
  std::vector<double> actions(kSets * kEnvironments);
  Rng rng(2);
  for (double& action : actions) action = rng.Uniform(-1.0, 1.0);
  const auto eight_steps = [&] {
    for (size_t set = 0; set < kSets; ++set) {
      env.Step(std::span(actions).subspan(set * kEnvironments, kEnvironments));
    }
  };
  return BestRate(session.repeats, session.seconds, eight_steps) * kSets * kEnvironments;
}

}  // namespace

void MeasureSteps(const Dataset& seed, const Dataset& extended, Session& session) {
  constexpr double kMillion = 1e6;
  const double replay =
      StepRate(seed, {.dynamics = "replay", .reward = "seed", .order = Order::kRecorded}, session);
  session
      .Compare({.name = "step: replay, seed reward",
                .value = replay / kMillion,
                .unit = "M/s",
                .target = ">= 50 M/s",
                .why = fmt::format("{} environments of 10 steps over {} rows, recorded order, all "
                                   "terms, observations copied out, one core",
                                   kEnvironments, seed.size())},
               &SeedBaseline::step_s, 1.0 / kMillion)
      .met = replay >= 50.0 * kMillion;

  session.rows.push_back(
      {.name = "step: replay, balanced reward",
       .value =
           StepRate(extended, {.dynamics = "replay", .order = Order::kTask}, session) / kMillion,
       .unit = "M/s",
       .why = fmt::format("as above, order task, hold 5, {} features, {} rows",
                          extended.feature_count(), extended.size())});
  session.rows.push_back(
      {.name = "step: nearest, balanced reward",
       .value = StepRate(extended, {.dynamics = "nearest", .order = Order::kTask}, session) / 1e3,
       .unit = "k/s",
       .why = "every environment in a state of its own; clones of a group share most of the work"});
}

void MeasureSimulate(const Dataset& seed, Session& session) {
  const Scenario scenario(
      seed, {.dynamics = "nearest-state", .reward = "seed", .order = Order::kRecorded});
  // Queries as in the seed's reference vectors: a row, each feature moved by N(0, 0.3).
  const size_t width = seed.feature_count();
  constexpr size_t kQueries = 20'000;  // more than caches and branch predictors learn by heart
  std::vector<double> queries;
  Rng rng(3);
  for (size_t i = 0; i < kQueries; ++i) {
    for (const double value : seed.state(rng.Below(seed.size()))) {
      queries.push_back(value + 0.3 * rng.Normal());
    }
  }
  const auto all = [&] {
    for (size_t i = 0; i < kQueries; ++i) {
      (void)scenario.dynamics().Simulate(std::span(queries).subspan(i * width, width), 0.0);
    }
  };
  const double rate = BestRate(session.repeats, session.seconds, all) * kQueries;
  BenchRow& row = session.Compare(
      {.name = "simulate: nearest-state",
       .value = rate / 1e3,
       .unit = "k/s",
       .target = ">= 20 k/s, 100x",
       .why = fmt::format("exact over {} rows, one core; the seed takes the best of 500 at random",
                          seed.size())},
      &SeedBaseline::simulate_s, 1e-3);
  if (row.ratio) row.met = rate >= 20e3 && *row.ratio >= 100.0;
}

}  // namespace kernelx::bench
