// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/reward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "kernelx/env/test_scenario.h"

namespace kernelx {
namespace {

/// All terms by name, and their sum as "total".
std::map<std::string, double> Terms(const Reward& reward, const Outcome& outcome, double action,
                                    double previous_action) {
  double values[Reward::kMaxTerms];
  reward.FromOutcome(outcome, values);
  reward.FromAction(action, previous_action, values + reward.outcome_terms());
  std::map<std::string, double> terms;
  for (size_t t = 0; t < reward.terms().size(); ++t) {
    terms[std::string(reward.terms()[t])] = values[t];
    terms["total"] += values[t];
  }
  return terms;
}

TEST(SeedReward, GivesEveryReferenceVector) {
  size_t checked = 0;
  for (const auto& vector : SeedVectors()["rewards"]) {
    const auto reward = MakeReward(
        "seed", {.alpha = vector["alpha"], .beta = vector["beta"], .gamma = vector["gamma"]});
    Outcome outcome;
    outcome.seed_exec_gain =
        vector["next_state"][4].get<double>() - vector["state"][4].get<double>();
    outcome.seed_wait_gain =
        vector["next_state"][9].get<double>() - vector["state"][9].get<double>();
    auto terms = Terms(*reward, outcome, vector["action"], vector["prev_action"]);
    ASSERT_EQ(terms.size(), 5U);
    for (const auto& [name, value] : vector["expect"].items()) {
      ExpectSeedNumber(terms.at(name), value, name + " of vector " + std::to_string(checked));
    }
    ++checked;
  }
  EXPECT_EQ(checked, 200U);
}

TEST(SeedReward, PaysForNoImprovement) {
  const auto reward = MakeReward("seed");
  Outcome outcome;
  outcome.seed_exec_gain = -3.0;
  outcome.seed_wait_gain = -50.0;
  const auto terms = Terms(*reward, outcome, 0.5, -0.5);
  EXPECT_EQ(terms.at("throughput"), 0.0);
  EXPECT_EQ(terms.at("latency"), 0.0);
  EXPECT_EQ(terms.at("stability"), -0.5);
  EXPECT_EQ(terms.at("format"), 1.0);
}

TEST(BalancedReward, EachTermByHand) {
  const auto reward = MakeReward("balanced");
  Outcome outcome;
  outcome.exec_us = 480.0;
  outcome.dt_us = 4900.0;
  outcome.log_slowdown = std::log(1.1);
  const auto terms = Terms(*reward, outcome, -0.6, 0.2);
  EXPECT_EQ(terms.at("latency"), -std::log(1.1));
  EXPECT_NEAR(terms.at("price"), std::log(10.0), 1e-15);  // -ln(500 / 5000)
  EXPECT_NEAR(terms.at("effort"), -0.03, 1e-15);
  EXPECT_NEAR(terms.at("stability"), -0.04, 1e-15);
  EXPECT_EQ(terms.at("format"), 1.0);
  EXPECT_NEAR(terms.at("total"), -std::log(1.1) + std::log(10.0) - 0.07 + 1.0, 1e-15);
}

TEST(BalancedReward, WeightsScaleTheirTerms) {
  const auto reward = MakeReward("balanced", {.price = 0.8, .effort = 1.0, .stability = 2.0});
  Outcome outcome;
  outcome.exec_us = 480.0;
  outcome.dt_us = 4900.0;
  const auto terms = Terms(*reward, outcome, 1.0, 0.5);
  EXPECT_NEAR(terms.at("price"), 0.8 * std::log(10.0), 1e-15);
  EXPECT_EQ(terms.at("effort"), -1.0);
  EXPECT_EQ(terms.at("stability"), -1.0);
}

TEST(BalancedReward, IsFiniteWhateverTheWait) {
  const auto reward = MakeReward("balanced");
  double before = std::numeric_limits<double>::infinity();
  for (const uint64_t wait :
       {uint64_t{0}, uint64_t{1}, uint64_t{100'000}, uint64_t{1'000'000'000}, ~uint64_t{0}}) {
    auto rows = OneTask(1);
    rows[0].next_wait_us = wait;
    const Dataset data = HandData(rows);
    const Outcome outcome = OutcomeAt(data, Trajectories(data, Order::kTask), 0, 1);
    const auto terms = Terms(*reward, outcome, 1.0, -1.0);
    for (const auto& [name, value] : terms) EXPECT_TRUE(std::isfinite(value)) << name;
    EXPECT_LT(terms.at("latency"), before) << "a longer wait is worse";
    EXPECT_GE(terms.at("latency"), -40.0) << "by a logarithm, not by its length";
    before = terms.at("latency");
  }
}

TEST(BalancedReward, IsFiniteWithoutTimeOrCpu) {
  const auto terms = Terms(*MakeReward("balanced"), Outcome{}, 0.0, 0.0);
  EXPECT_NEAR(terms.at("price"), std::log(5.0), 1e-15);  // -ln(20 / 100)
}

TEST(BalancedReward, AnActionOutOfRangeActsAsItsClamp) {
  const auto reward = MakeReward("balanced");
  EXPECT_TRUE(reward->clamps());
  auto beyond = Terms(*reward, Outcome{}, 1.0000001, 0.25);
  auto clamp = Terms(*reward, Outcome{}, 1.0, 0.25);
  EXPECT_EQ(beyond.at("format"), 0.0);
  EXPECT_EQ(clamp.at("format"), 1.0);
  EXPECT_EQ(beyond.at("effort"), clamp.at("effort"));
  EXPECT_EQ(beyond.at("stability"), clamp.at("stability"));
}

TEST(Reward, ReInterleavingTasksChangesTheSeedsAndNotTheBalanced) {
  // Two tasks, one after the other and then event by event.
  const auto a = OneTask(6, 1);
  auto b = OneTask(6, 2);
  for (HandRow& row : b) row.wait_us += 5000, row.next_wait_us += 5000;
  std::vector<HandRow> apart;
  std::vector<HandRow> mixed;
  for (size_t i = 0; i < 6; ++i) apart.push_back(a[i]);
  for (size_t i = 0; i < 6; ++i)
    apart.push_back(b[i]), mixed.push_back(a[i]), mixed.push_back(b[i]);
  const auto sum = [](const std::vector<HandRow>& rows, Order order, const char* preset) {
    const Dataset data = HandData(rows);
    const Trajectories trajectories(data, order);
    const auto reward = MakeReward(preset);
    double total = 0.0;
    for (uint32_t row = 0; row < data.size(); ++row) {
      total += Terms(*reward, OutcomeAt(data, trajectories, row, 1), 0.0, 0.0).at("total");
    }
    return total;
  };
  EXPECT_LT(sum(mixed, Order::kRecorded, "seed"), 1.1 * sum(apart, Order::kRecorded, "seed"));
  EXPECT_NEAR(sum(mixed, Order::kTask, "balanced"), sum(apart, Order::kTask, "balanced"), 1e-12);
}

TEST(MakeReward, RefusesWhatIsNoRewardAndNoWeight) {
  EXPECT_NE(WhatOf(ErrorCode::kUsage, [] { MakeReward("fair"); }).find("use seed or balanced"),
            std::string::npos);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    WhatOf(ErrorCode::kUsage, [&] { MakeReward("seed", {.alpha = bad}); });
    WhatOf(ErrorCode::kUsage, [&] { MakeReward("balanced", {.price = bad}); });
  }
}

}  // namespace
}  // namespace kernelx
