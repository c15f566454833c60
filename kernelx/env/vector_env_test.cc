// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What an environment does step by step, by hand. What every environment keeps to, whatever its
// dynamics, is in conformance_test.cc.
#include "kernelx/env/vector_env.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernelx/env/test_scenario.h"

namespace kernelx {
namespace {

using Status = EpisodeState::Status;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

std::shared_ptr<const Scenario> Replay(std::vector<HandRow> rows, int hold, int max_steps,
                                       const std::string& reward = "balanced") {
  return MakeScenario(HandData(rows), {.dynamics = "replay",
                                       .reward = reward,
                                       .order = Order::kTask,
                                       .hold = hold,
                                       .max_steps = max_steps});
}

void StepOne(VectorEnv& env, double action) { env.Step({&action, 1}); }

/// Everything a caller can see of the environments.
std::vector<double> Everything(const VectorEnv& env) {
  std::vector<double> all(env.features().begin(), env.features().end());
  all.insert(all.end(), env.total().begin(), env.total().end());
  for (size_t t = 0; t < env.scenario().reward().terms().size(); ++t) {
    all.insert(all.end(), env.term(t).begin(), env.term(t).end());
  }
  for (size_t i = 0; i < env.size(); ++i) {
    const EpisodeState episode = env.episode(i);
    for (const double value :
         {static_cast<double>(env.terminated()[i]), static_cast<double>(env.truncated()[i]),
          static_cast<double>(episode.key), static_cast<double>(episode.episodes),
          episode.previous_action, static_cast<double>(episode.origin),
          static_cast<double>(episode.row), static_cast<double>(episode.timestep),
          static_cast<double>(episode.status)}) {
      all.push_back(value);
    }
  }
  return all;
}

TEST(VectorEnv, GivesEveryReferenceEpisode) {
  const auto scenario =
      MakeScenario(SeedRows(), {.dynamics = "replay", .reward = "seed", .order = Order::kRecorded});
  VectorEnv env(scenario, 1, 0);
  size_t checked = 0;
  for (const auto& episode : SeedVectors()["episodes"]) {
    env.Reset(0, episode["start_index"].get<uint64_t>());
    for (const auto& step : episode["steps"]) {
      StepOne(env, step["action"]);
      for (const auto& [name, value] : step["reward"].items()) {
        ExpectSeedNumber(name == "total" ? env.total()[0] : TermOf(env, name), value, name);
      }
      const auto& next = step["next"];
      EXPECT_TRUE(std::ranges::equal(env.features(0), next["features"].get<std::vector<double>>()));
      EXPECT_EQ(env.pid(0), next["pid"].get<int>());
      EXPECT_EQ(env.cpu(0), next["cpu"].get<int>());
      EXPECT_EQ(env.episode(0).timestep, next["timestep"].get<int>());
      EXPECT_EQ(env.episode(0).previous_action, next["prev_action"].get<double>());
      EXPECT_EQ(env.truncated()[0] != 0, step["done"].get<bool>());
      EXPECT_EQ(env.terminated()[0], 0);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 200U);
}

TEST(VectorEnv, ReplayGivesBackTheRecording) {
  const auto scenario = MakeScenario(Sample(), {.dynamics = "replay", .hold = 1, .max_steps = 50});
  const Dataset& data = scenario->dataset();
  const auto wait = static_cast<size_t>(FeatureSet::Extended().Find("wt_us"));
  VectorEnv env(scenario, 1, 0);
  for (uint32_t row = 0; row < 400; row += 40) {
    env.Reset(0, row);
    for (uint32_t at = row; env.episode(0).status == Status::kRunning;) {
      StepOne(env, data.action()[at]);  // the recorded decision
      EXPECT_EQ(env.features(0)[wait], static_cast<double>(data.delta()[at].next_wait_us));
      EXPECT_TRUE(std::ranges::equal(env.features(0), data.next_state(at)));
      at = scenario->trajectories().next(at);
    }
  }
}

TEST(VectorEnv, RewardFollowsFromTheEventsOfTheDecision) {
  const auto scenario = Replay(OneTask(8), 5, 10);
  VectorEnv env(scenario, 1, 0);
  env.Reset(0, 1);
  StepOne(env, -0.5);
  double slowdown = 0.0;
  for (const double wait : {20.0, 30.0, 40.0, 50.0, 60.0}) slowdown += std::log((wait + 200) / 200);
  EXPECT_NEAR(TermOf(env, "latency"), -slowdown / 5, 1e-14);
  EXPECT_NEAR(TermOf(env, "price"), -std::log(520.0 / 5100.0), 1e-14);
  EXPECT_NEAR(TermOf(env, "effort"), -0.025, 1e-15);
  EXPECT_NEAR(TermOf(env, "stability"), -0.025, 1e-15);
  EXPECT_EQ(TermOf(env, "format"), 1.0);
  double sum = 0.0;
  for (size_t t = 0; t < 5; ++t) sum += env.term(t)[0];
  EXPECT_NEAR(env.total()[0], sum, 1e-15);
}

TEST(VectorEnv, ADecisionHoldsAndTheLastMayBeShort) {
  VectorEnv env(Replay(OneTask(7), 5, 10), 1, 0);
  env.Reset(0, 0);
  StepOne(env, 0.0);
  EXPECT_EQ(env.episode(0).row, 5U);
  EXPECT_EQ(env.terminated()[0], 0);
  StepOne(env, 0.0);  // rows 5 and 6
  EXPECT_NEAR(TermOf(env, "price"), -std::log(220.0 / 2100.0), 1e-14);
  EXPECT_EQ(env.terminated()[0], 1);
  EXPECT_EQ(env.truncated()[0], 0);
}

TEST(VectorEnv, TerminatedAndTruncatedAreApart) {
  const auto flags = [](size_t rows, int max_steps) {
    VectorEnv env(Replay(OneTask(rows), 1, max_steps), 1, 0);
    env.Reset(0, 0);
    while (env.episode(0).status == Status::kRunning) StepOne(env, 0.0);
    return std::tuple(env.episode(0).timestep, env.terminated()[0] != 0, env.truncated()[0] != 0);
  };
  EXPECT_EQ(flags(3, 10), std::tuple(3, true, false));
  EXPECT_EQ(flags(5, 3), std::tuple(3, false, true));
  EXPECT_EQ(flags(3, 3), std::tuple(3, true, true)) << "both are so";
}

TEST(VectorEnv, SeedsRecordedOrderOnlyTruncates) {
  const auto scenario = MakeScenario(
      HandData(OneTask(11)), {.dynamics = "replay", .reward = "seed", .order = Order::kRecorded});
  VectorEnv env(scenario, 1, 0);
  env.Reset(0, 0);
  while (env.episode(0).status == Status::kRunning) StepOne(env, 0.0);
  EXPECT_EQ(env.episode(0).timestep, 10);
  EXPECT_EQ(env.truncated()[0], 1);
  EXPECT_EQ(env.terminated()[0], 0);
}

TEST(VectorEnv, StepBeforeResetIsRefused) {
  VectorEnv env(Replay(OneTask(5), 1, 3), 2, 0);
  env.Reset(0);  // slot 1 is not
  const auto before = Everything(env);
  const double actions[] = {0.5, 0.5};
  const std::string what = WhatOf(ErrorCode::kState, [&] { env.Step(actions); });
  EXPECT_NE(what.find("environment 1 was never reset"), std::string::npos) << what;
  EXPECT_EQ(Everything(env), before);
}

TEST(VectorEnv, StepAfterTheEndIsRefused) {
  VectorEnv env(Replay(OneTask(5), 1, 2), 2, 0);
  env.Reset();
  const double actions[] = {0.5, -0.5};
  env.Step(actions);
  env.Step(actions);
  const auto before = Everything(env);
  const std::string what = WhatOf(ErrorCode::kState, [&] { env.Step(actions); });
  EXPECT_NE(what.find("has ended its episode"), std::string::npos) << what;
  EXPECT_EQ(Everything(env), before);
  env.Reset(0);
  EXPECT_NE(WhatOf(ErrorCode::kState, [&] { env.Step(actions); }).find("environment 1"),
            std::string::npos);
}

TEST(VectorEnv, AnActionThatIsNoNumberChangesNothing) {
  VectorEnv env(Replay(OneTask(9), 1, 8), 3, 4);
  env.Reset();
  const double fine[] = {0.1, 0.2, 0.3};
  env.Step(fine);
  const auto before = Everything(env);
  for (const double bad : {kNan, kInf, -kInf}) {
    const double actions[] = {0.1, bad, 0.3};
    const std::string what = WhatOf(ErrorCode::kBadInput, [&] { env.Step(actions); });
    EXPECT_NE(what.find("environment 1"), std::string::npos) << what;
    EXPECT_EQ(Everything(env), before);
  }
  WhatOf(ErrorCode::kUsage, [&] { env.Step(std::span(fine).first(2)); });
  EXPECT_EQ(Everything(env), before);
  env.Step(fine);
}

TEST(VectorEnv, OutOfRangeActsAsItsClampUnderBalanced) {
  const auto scenario = MakeScenario(Sample(), {.dynamics = "nearest"});
  VectorEnv env(scenario, 2, 1);
  env.Reset(0);
  env.Clone(0, 1);
  const double actions[] = {1.0000001, 1.0};
  env.Step(actions);
  EXPECT_EQ(TermOf(env, "format", 0), 0.0);
  EXPECT_EQ(TermOf(env, "format", 1), 1.0);
  for (const char* term : {"latency", "price", "effort", "stability"}) {
    EXPECT_EQ(TermOf(env, term, 0), TermOf(env, term, 1)) << term;
  }
  EXPECT_TRUE(std::ranges::equal(env.features(0), env.features(1)));
  EXPECT_EQ(env.episode(0).previous_action, 1.0);
}

TEST(VectorEnv, OutOfRangeIsTakenAsItIsUnderSeed) {
  VectorEnv env(Replay(OneTask(5), 1, 3, "seed"), 1, 0);
  env.Reset(0, 0);
  StepOne(env, 3.0);
  EXPECT_EQ(TermOf(env, "format"), 0.0);
  EXPECT_EQ(TermOf(env, "stability"), -1.5);
  EXPECT_EQ(env.episode(0).previous_action, 3.0);
  StepOne(env, -1.0);
  EXPECT_EQ(TermOf(env, "stability"), -2.0);
}

TEST(VectorEnv, ResetClearsTheFlagsOfTheEpisodeBefore) {
  VectorEnv env(Replay(OneTask(2), 1, 2), 1, 0);
  env.Reset(0, 0);
  StepOne(env, 0.0);
  StepOne(env, 0.0);
  ASSERT_TRUE(env.terminated()[0] != 0 && env.truncated()[0] != 0);
  env.Reset(0, 0);
  EXPECT_EQ(env.terminated()[0], 0);
  EXPECT_EQ(env.truncated()[0], 0);
  EXPECT_EQ(env.episode(0).timestep, 0);
  EXPECT_EQ(env.episode(0).previous_action, 0.0);
}

TEST(VectorEnv, ThePreviousActionIsTheStandingOneAndTheSeedsZero) {
  const auto column = static_cast<size_t>(FeatureSet::Extended().Find("previous_action"));
  uint32_t row = 0;  // one with a standing action and events to come
  const auto task = MakeScenario(Sample(), {.dynamics = "replay", .hold = 1});
  while (Sample().state(row)[column] == 0.0 || task->trajectories().remaining(row) < 2) ++row;
  VectorEnv env(task, 1, 0);
  env.Reset(0, row);
  EXPECT_EQ(env.episode(0).previous_action, Sample().state(row)[column]);
  const auto recorded =
      MakeScenario(Sample(), {.dynamics = "replay", .reward = "seed", .order = Order::kRecorded});
  VectorEnv seed(recorded, 1, 0);
  seed.Reset(0, row);
  EXPECT_EQ(seed.episode(0).previous_action, 0.0);
  StepOne(seed, 0.4);
  EXPECT_EQ(TermOf(seed, "stability"), -0.2);
}

TEST(VectorEnv, AWrongStartLeavesTheEpisodeAlone) {
  VectorEnv env(Replay(OneTask(7), 5, 3), 1, 0);
  env.Reset(0, 1);
  const auto before = Everything(env);
  WhatOf(ErrorCode::kUsage, [&] { env.Reset(0, 6); });
  EXPECT_EQ(Everything(env), before);
}

TEST(VectorEnv, StartsAreDrawnEvenly) {
  const auto scenario = MakeScenario(
      HandData(OneTask(14)), {.dynamics = "replay", .reward = "seed", .order = Order::kRecorded});
  VectorEnv env(scenario, 1, 9);
  std::vector<int> count(4, 0);
  for (int i = 0; i < 4000; ++i) {
    env.Reset(0);
    ++count.at(env.episode(0).origin);
  }
  // 0 .. n - max_steps - 1 inclusive; four standard errors of a binomial(4000, 1/4) are 110.
  for (const int n : count) EXPECT_NEAR(n, 1000, 110);
}

TEST(VectorEnv, SeedStartsOver) {
  const auto scenario = MakeScenario(Sample(), {.dynamics = "nearest"});
  VectorEnv env(scenario, 2, 5);
  env.Reset();
  const std::vector<double> first(env.features().begin(), env.features().end());
  env.Reset();
  env.Seed(5);
  EXPECT_EQ(env.episode(0).status, Status::kNotReset);
  env.Reset();
  EXPECT_TRUE(std::ranges::equal(env.features(), first));
}

TEST(VectorEnv, AutoResetGivesTheNextEpisodesFirstState) {
  const auto scenario = MakeScenario(Sample(), {.dynamics = "nearest", .max_steps = 2});
  VectorEnv automatic(scenario, 3, 5, AutoReset::kSameStep);
  VectorEnv by_hand(scenario, 3, 5);
  automatic.Reset();
  by_hand.Reset();
  const double actions[] = {0.5, -0.5, 0.0};
  for (int step = 1; step <= 6; ++step) {
    automatic.Step(actions);
    by_hand.Step(actions);
    const bool ends = step % 2 == 0;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(automatic.truncated()[i] != 0, ends);
      EXPECT_EQ(automatic.total()[i], by_hand.total()[i]);
      EXPECT_EQ(automatic.episode(i).status, Status::kRunning);
    }
    if (ends) by_hand.Reset();
    EXPECT_TRUE(std::ranges::equal(automatic.features(), by_hand.features()));
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(automatic.episode(i).key, by_hand.episode(i).key);
      EXPECT_EQ(automatic.episode(i).timestep, by_hand.episode(i).timestep);
    }
  }
}

TEST(VectorEnv, OneRowIsAnEpisodeOfOneStep) {
  for (const char* dynamics : {"replay", "nearest", "nearest-state"}) {
    const auto scenario =
        MakeScenario(HandData(OneTask(1)), {.dynamics = dynamics, .max_steps = 3});
    VectorEnv env(scenario, 1, 0);
    env.Reset(0);
    StepOne(env, 0.5);
    EXPECT_TRUE(std::isfinite(env.total()[0]));
    EXPECT_EQ(env.terminated()[0] != 0, std::string(dynamics) == "replay");
  }
}

TEST(VectorEnv, RowsThatAreAllAlikeGiveAConstantReward) {
  std::vector<HandRow> rows;
  for (uint64_t k = 0; k < 40; ++k) {
    rows.push_back({.pid = static_cast<int32_t>(k), .us = 10 + k, .next_us = 20 + k});
  }
  for (const char* dynamics : {"replay", "nearest", "nearest-state"}) {
    const auto scenario = MakeScenario(HandData(rows), {.dynamics = dynamics, .max_steps = 2});
    VectorEnv env(scenario, 5, 0);
    env.Reset();
    const double actions[] = {0.5, 0.5, 0.5, 0.5, 0.5};
    env.Step(actions);
    EXPECT_TRUE(std::isfinite(env.total()[0]));
    for (const double total : env.total()) EXPECT_NEAR(total, env.total()[0], 1e-12);
  }
}

}  // namespace
}  // namespace kernelx
