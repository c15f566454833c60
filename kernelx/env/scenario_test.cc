// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/scenario.h"

#include <gtest/gtest.h>

#include <string>

#include "kernelx/env/test_scenario.h"

namespace kernelx {
namespace {

ScenarioOptions Options(const std::string& dynamics, Order order, const std::string& reward) {
  return {.dynamics = dynamics, .reward = reward, .order = order};
}

std::string Refused(ErrorCode code, const Dataset& data, const ScenarioOptions& options) {
  return WhatOf(code, [&] { Scenario(data, options); });
}

TEST(Scenario, HoldIsOneForTheSeedAndFiveElse) {
  const Dataset data = HandData(OneTask(20));
  const auto hold = [&](Order order, const char* reward, int given) {
    auto options = Options("replay", order, reward);
    options.hold = given;
    return Scenario(data, options).hold();
  };
  EXPECT_EQ(hold(Order::kTask, "balanced", 0), 5);
  EXPECT_EQ(hold(Order::kTask, "seed", 0), 1);
  EXPECT_EQ(hold(Order::kRecorded, "seed", 0), 1);
  EXPECT_EQ(hold(Order::kTask, "balanced", 2), 2);
  EXPECT_EQ(hold(Order::kRecorded, "seed", 3), 3);
}

TEST(Scenario, TooFewRowsNamesBothNumbers) {
  const auto options = Options("replay", Order::kRecorded, "seed");
  const std::string what = Refused(ErrorCode::kBadInput, HandData(OneTask(10)), options);
  EXPECT_NE(what.find("10 rows"), std::string::npos) << what;
  EXPECT_NE(what.find("at least 11"), std::string::npos) << what;
  EXPECT_EQ(Scenario(HandData(OneTask(11)), options).start_count(), 1U);
}

TEST(Scenario, NoRowIsRefused) {
  for (const Order order : {Order::kTask, Order::kRecorded}) {
    const std::string what =
        Refused(ErrorCode::kBadInput, HandData({}), Options("replay", order, "seed"));
    EXPECT_NE(what.find("hand.jsonl: 0 rows"), std::string::npos) << what;
  }
}

TEST(Scenario, RecordedEpisodesStartWhereTheyFit) {
  const Scenario scenario(HandData(OneTask(15)), Options("replay", Order::kRecorded, "seed"));
  EXPECT_EQ(scenario.start_count(), 5U);
  scenario.CheckStart(4);
  const std::string what = WhatOf(ErrorCode::kUsage, [&] { scenario.CheckStart(5); });
  EXPECT_NE(what.find("start index 5"), std::string::npos) << what;
  WhatOf(ErrorCode::kUsage, [&] { scenario.CheckStart(uint64_t{1} << 32); });
}

TEST(Scenario, TaskEpisodesStartWhereADecisionIsWhole) {
  const Scenario scenario(HandData(OneTask(7)), Options("replay", Order::kTask, "balanced"));
  EXPECT_EQ(scenario.start_count(), 3U);  // rows 0 to 2 have five events to come
  scenario.CheckStart(2);
  WhatOf(ErrorCode::kUsage, [&] { scenario.CheckStart(3); });
  WhatOf(ErrorCode::kUsage, [&] { scenario.CheckStart(uint64_t{1} << 32); });
}

TEST(Scenario, WhereNoDecisionIsWholeAnyRowServes) {
  const Scenario scenario(HandData(OneTask(3)), Options("replay", Order::kTask, "balanced"));
  EXPECT_EQ(scenario.start_count(), 3U);
}

TEST(Scenario, RefusesOptionsThatMakeNoSense) {
  const Dataset data = HandData(OneTask(20));
  auto options = Options("replay", Order::kTask, "balanced");
  options.max_steps = 0;
  EXPECT_NE(Refused(ErrorCode::kUsage, data, options).find("max_steps is 0"), std::string::npos);
  options.max_steps = 10;
  options.hold = -1;
  EXPECT_NE(Refused(ErrorCode::kUsage, data, options).find("hold is -1"), std::string::npos);
  Refused(ErrorCode::kUsage, data, Options("replay", Order::kRecorded, "balanced"));
  Refused(ErrorCode::kUsage, data, Options("replay", Order::kTask, "fair"));
  EXPECT_NE(Refused(ErrorCode::kUsage, data, Options("magic", Order::kTask, "balanced"))
                .find("use replay, nearest or nearest-state"),
            std::string::npos);
}

TEST(Scenario, TheSeedsRewardNeedsTheSeedsFeatures) {
  DatasetBuilder builder({"x"}, kExactColumns);
  Row row = MakeRow(OneTask(1)[0]);
  row.state = row.next_state = {1.0};
  builder.Append(row);
  builder.set_source("narrow.jsonl");
  const Dataset data = std::move(builder).Build();
  EXPECT_NE(Refused(ErrorCode::kBadInput, data, Options("replay", Order::kTask, "seed"))
                .find("has only 1"),
            std::string::npos);
  const Scenario scenario(data, Options("replay", Order::kTask, "balanced"));
  EXPECT_EQ(scenario.feature_count(), 1U) << "the balanced reward reads exact deltas";
}

TEST(Scenario, FindsThePreviousActionByName) {
  const Scenario extended(Sample(), Options("replay", Order::kTask, "balanced"));
  EXPECT_EQ(extended.previous_action_column(), FeatureSet::Extended().Find("previous_action"));
  const Scenario seed(SeedRows(), Options("replay", Order::kTask, "seed"));
  EXPECT_EQ(seed.previous_action_column(), -1);
}

TEST(Order, ReadsItsOwnNames) {
  for (const Order order : {Order::kRecorded, Order::kTask}) {
    EXPECT_EQ(ParseOrder(OrderName(order)), order);
  }
  WhatOf(ErrorCode::kUsage, [] { ParseOrder("random"); });
}

}  // namespace
}  // namespace kernelx
