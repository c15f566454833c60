// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What every environment keeps to, whatever its dynamics, order and reward. A new one is covered by
// a line in `AllKinds`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "kernelx/env/test_scenario.h"
#include "kernelx/env/vector_env.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

using Status = EpisodeState::Status;

struct Kind {
  std::string dynamics;
  Order order;
  std::string reward;
};

std::vector<Kind> AllKinds() {
  std::vector<Kind> kinds;
  for (const char* dynamics : {"replay", "nearest", "nearest-state"}) {
    kinds.push_back({dynamics, Order::kTask, "balanced"});
    kinds.push_back({dynamics, Order::kTask, "seed"});
    kinds.push_back({dynamics, Order::kRecorded, "seed"});
  }
  return kinds;
}

std::string KindName(const Kind& kind) {
  std::string name = kind.dynamics + "_" + std::string(OrderName(kind.order)) + "_" + kind.reward;
  std::ranges::replace(name, '-', '_');
  return name;
}

void PrintTo(const Kind& kind, std::ostream* out) { *out << KindName(kind); }

const std::shared_ptr<const Scenario>& ScenarioOf(const Kind& kind) {
  static std::map<std::string, std::shared_ptr<const Scenario>> made;
  auto& scenario = made[KindName(kind)];
  if (!scenario) {
    scenario = MakeScenario(
        Sample(),
        {.dynamics = kind.dynamics, .reward = kind.reward, .order = kind.order, .max_steps = 6});
  }
  return scenario;
}

/// What slot i shows after a reset or step.
std::vector<double> Slot(const VectorEnv& env, size_t i) {
  std::vector<double> shown(env.features(i).begin(), env.features(i).end());
  shown.push_back(env.total()[i]);
  for (size_t t = 0; t < env.scenario().reward().terms().size(); ++t) {
    shown.push_back(env.term(t)[i]);
  }
  for (const int value : {static_cast<int>(env.terminated()[i]),
                          static_cast<int>(env.truncated()[i]), env.pid(i), env.cpu(i)}) {
    shown.push_back(value);
  }
  return shown;
}

/// The k-th action of the slot with this seed; now and then out of range.
double Action(uint64_t seed, int k) { return Rng(seed, 1000 + k).Uniform(-1.2, 1.2); }

/// What `n` slots show over two episodes each.
std::vector<std::vector<double>> Transcript(const Kind& kind, size_t n, uint64_t seed,
                                            unsigned threads) {
  VectorEnv env(ScenarioOf(kind), n, seed, AutoReset::kSameStep, threads);
  env.Reset();
  std::vector<std::vector<double>> shown(n);
  std::vector<double> actions(n);
  for (int step = 0; step < 13; ++step) {
    for (size_t i = 0; i < n; ++i) actions[i] = Action(seed + i, step);
    env.Step(actions);
    for (size_t i = 0; i < n; ++i) {
      const auto slot = Slot(env, i);
      shown[i].insert(shown[i].end(), slot.begin(), slot.end());
    }
  }
  return shown;
}

class Conformance : public ::testing::TestWithParam<Kind> {};

TEST_P(Conformance, SameSeedSameNumbersAndAnotherSeedOthers) {
  EXPECT_EQ(Transcript(GetParam(), 3, 42, 1), Transcript(GetParam(), 3, 42, 1));
  EXPECT_NE(Transcript(GetParam(), 1, 42, 1), Transcript(GetParam(), 1, 43, 1));
}

TEST_P(Conformance, ASlotIsASingleEnvironment) {
  const auto together = Transcript(GetParam(), 150, 7, 1);  // more than one block of slots
  for (const size_t i : {0UL, 1UL, 127UL, 128UL, 149UL}) {
    EXPECT_EQ(together[i], Transcript(GetParam(), 1, 7 + i, 1)[0]) << "slot " << i;
  }
}

TEST_P(Conformance, ThreadsDoNotShow) {
  const auto one = Transcript(GetParam(), 131, 11, 1);
  EXPECT_EQ(one, Transcript(GetParam(), 131, 11, 2));
  EXPECT_EQ(one, Transcript(GetParam(), 131, 11, 3));
}

TEST_P(Conformance, SetUpThreadsDoNotShow) {
  const Kind& kind = GetParam();
  std::vector<double> first;
  for (const unsigned threads : {1U, 3U}) {
    const auto scenario = MakeScenario(Sample(), {.dynamics = kind.dynamics,
                                                  .reward = kind.reward,
                                                  .order = kind.order,
                                                  .threads = threads});
    VectorEnv env(scenario, 1, 0);
    env.Reset(0);
    const double action = 0.3;
    env.Step({&action, 1});
    if (threads == 1) first = Slot(env, 0);
    EXPECT_EQ(Slot(env, 0), first);
  }
}

TEST_P(Conformance, AllThatIsShownIsFinite) {
  for (const auto& slot : Transcript(GetParam(), 20, 100, 1)) {
    EXPECT_TRUE(std::ranges::all_of(slot, [](double value) { return std::isfinite(value); }));
  }
}

TEST_P(Conformance, TotalIsTheSumOfTheTerms) {
  VectorEnv env(ScenarioOf(GetParam()), 4, 0);
  env.Reset();
  const double actions[] = {-1.5, -0.5, 0.0, 1.0};
  env.Step(actions);
  for (size_t i = 0; i < 4; ++i) {
    double sum = 0.0;
    for (size_t t = 0; t < env.scenario().reward().terms().size(); ++t) sum += env.term(t)[i];
    EXPECT_NEAR(env.total()[i], sum, 1e-12 * std::abs(sum));
    EXPECT_EQ(TermOf(env, "format", i), i == 0 ? 0.0 : 1.0);
  }
}

TEST_P(Conformance, ClonesWithTheSameActionsStayEqual) {
  VectorEnv env(ScenarioOf(GetParam()), 3, 21);
  env.Reset();
  std::vector<double> actions = {0.4, -0.4, 0.1};
  env.Step(actions);
  if (env.episode(0).status != Status::kRunning) env.Reset(0);
  env.Clone(0, 2);
  if (env.episode(1).status != Status::kRunning) env.Reset(1);
  for (int step = 0; env.episode(0).status == Status::kRunning; ++step) {
    if (env.episode(1).status != Status::kRunning) env.Reset(1);
    actions = {Action(1, step), -0.4, Action(1, step)};
    env.Step(actions);
    EXPECT_EQ(Slot(env, 0), Slot(env, 2));
    EXPECT_EQ(env.episode(0).status, env.episode(2).status);
  }
}

/// Clones that act differently differ in the outcome where the dynamics acts, and otherwise only
/// in what reads the action.
TEST_P(Conformance, ClonesWithOtherActionsDifferWhereTheyShould) {
  const auto& scenario = ScenarioOf(GetParam());
  const size_t width = scenario->feature_count();
  const auto previous_action = static_cast<size_t>(scenario->previous_action_column());
  VectorEnv env(scenario, 20, 33);
  for (size_t i = 0; i < 20; i += 2) {
    env.Reset(i);
    env.Clone(i, i + 1);
  }
  std::vector<double> actions(20);
  for (size_t i = 0; i < 20; ++i) actions[i] = i % 2 == 0 ? -0.9 : 0.6;
  bool outcome_differs = false;
  bool action_terms_differ = false;
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < 20; i += 2) {  // a short episode begins again, in both clones
      if (env.episode(i).status == Status::kRunning) continue;
      env.Reset(i);
      env.Clone(i, i + 1);
    }
    env.Step(actions);
    for (size_t i = 0; i < 20; i += 2) {
      for (size_t column = 0; column < width; ++column) {
        if (column == previous_action) continue;
        outcome_differs |= env.features(i)[column] != env.features(i + 1)[column];
      }
      for (size_t t = 0; t < scenario->reward().terms().size(); ++t) {
        const bool differs = env.term(t)[i] != env.term(t)[i + 1];
        (t < scenario->reward().outcome_terms() ? outcome_differs : action_terms_differ) |= differs;
      }
      EXPECT_EQ(env.features(i)[previous_action], -0.9);
      EXPECT_EQ(env.features(i + 1)[previous_action], 0.6);
    }
  }
  EXPECT_EQ(outcome_differs, !scenario->dynamics().action_blind());
  EXPECT_TRUE(action_terms_differ);
}

TEST_P(Conformance, AResetSlotForgetsItsPast) {
  VectorEnv env(ScenarioOf(GetParam()), 1, 5);
  env.Reset(0, ScenarioOf(GetParam())->start(3));
  const std::vector<double> first(env.features(0).begin(), env.features(0).end());
  const double action = 0.7;
  env.Step({&action, 1});
  env.Reset(0, ScenarioOf(GetParam())->start(3));
  EXPECT_TRUE(std::ranges::equal(env.features(0), first));
  EXPECT_EQ(env.episode(0).timestep, 0);
}

INSTANTIATE_TEST_SUITE_P(AllKinds, Conformance, ::testing::ValuesIn(AllKinds()),
                         [](const auto& info) { return KindName(info.param); });

}  // namespace
}  // namespace kernelx
