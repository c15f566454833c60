// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/dynamics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kernelx/env/decision_table.h"
#include "kernelx/env/test_scenario.h"

namespace kernelx {
namespace {

ScenarioOptions Seedlike(const std::string& dynamics) {
  return {.dynamics = dynamics, .reward = "seed", .order = Order::kRecorded};
}

TEST(NearestState, GivesEveryReferenceNeighbour) {
  const auto scenario = MakeScenario(SeedRows(), Seedlike("nearest-state"));
  size_t checked = 0;
  for (const auto& vector : SeedVectors()["nearest"]) {
    const auto query = vector["query"].get<std::vector<double>>();
    for (const double action : {-1.0, 0.0, 1.0}) {
      const Simulated answer = scenario->dynamics().Simulate(query, action);
      ExpectSeedNumber(answer.distance, vector["distance"], "distance");
      const auto tied = vector["next_states"].get<std::vector<std::vector<double>>>();
      EXPECT_TRUE(std::ranges::any_of(
          tied, [&](const auto& state) { return std::ranges::equal(state, answer.next_state); }));
    }
    ++checked;
  }
  EXPECT_EQ(checked, 40U);
}

TEST(NearestState, ARecordedStateAnswersWithItsOwnNext) {
  const auto scenario = MakeScenario(Sample(), {.dynamics = "nearest-state"});
  const Dataset& data = scenario->dataset();
  for (size_t row = 0; row < data.size(); row += 97) {
    const Simulated answer = scenario->dynamics().Simulate(data.state(row), 0.0);
    EXPECT_EQ(answer.distance, 0.0);
    EXPECT_TRUE(std::ranges::equal(answer.next_state, data.next_state(row)));
  }
}

TEST(Replay, KnowsRecordedRowsOnly) {
  const auto scenario = MakeScenario(SeedRows(), Seedlike("replay"));
  const std::string what = WhatOf(
      ErrorCode::kUsage, [&] { (void)scenario->dynamics().Simulate(SeedRows().state(0), 0.0); });
  EXPECT_NE(what.find("nearest"), std::string::npos);
}

TEST(Dynamics, SayWhetherTheActionCounts) {
  for (const auto& [name, blind] :
       {std::pair{"replay", true}, std::pair{"nearest-state", true}, std::pair{"nearest", false}}) {
    const auto scenario = MakeScenario(Sample(), {.dynamics = name});
    EXPECT_EQ(scenario->dynamics().name(), name);
    EXPECT_EQ(scenario->dynamics().action_blind(), blind);
    EXPECT_EQ(scenario->dynamics().follows_recording(), std::string(name) == "replay");
  }
}

TEST(RandomisedRows, AreDrawnInForceAndTheTasksOwn) {
  const Dataset& data = Sample();
  const auto rows = RandomisedRows(data);
  const std::set<uint32_t> used(rows.begin(), rows.end());
  size_t drawn = 0;
  for (uint32_t row = 0; row < data.size(); ++row) {
    const bool counts = data.behavior()[row].drawn &&
                        data.behavior()[row].mode == DrawMode::kTask &&
                        data.applied()[row].in_force;
    EXPECT_EQ(used.contains(row), counts) << row;
    drawn += data.behavior()[row].drawn ? 1U : 0U;
  }
  EXPECT_EQ(drawn, 293U);  // what `inspect` says of the sample
  EXPECT_EQ(rows.size(), 265U);
}

TEST(RandomisedRows, AreAllWhereARecordingDoesNotSay) {
  EXPECT_EQ(RandomisedRows(SeedRows()).size(), SeedRows().size());
}

TEST(RandomisedRows, LeaveOutWhatOnlyAGroupDrew) {
  std::vector<Row> rows;
  for (const HandRow& hand : OneTask(4)) {
    rows.push_back(MakeRow(hand));
    rows.back().behavior = {.known = true, .drawn = true};
    rows.back().applied = {.known = true, .in_force = true};
  }
  rows[0].behavior.mode = DrawMode::kGroup;
  rows[1].behavior.drawn = false;
  rows[2].applied.in_force = false;
  DatasetBuilder builder(SeedFeatureNames(),
                         kExactColumns | ColumnBits(Column::kBehavior, Column::kApplied));
  for (const Row& row : rows) builder.Append(row);
  EXPECT_EQ(RandomisedRows(std::move(builder).Build()), (std::vector<uint32_t>{3}));
}

TEST(Nearest, RefusesARecordingWithoutDraws) {
  std::vector<Row> rows;
  for (const HandRow& hand : OneTask(4)) {
    rows.push_back(MakeRow(hand));
    rows.back().behavior.known = true;
  }
  DatasetBuilder builder(SeedFeatureNames(), kExactColumns | ColumnBits(Column::kBehavior));
  for (const Row& row : rows) builder.Append(row);
  builder.set_source("still.jsonl");
  const Dataset data = std::move(builder).Build();
  const std::string what = WhatOf(ErrorCode::kBadInput, [&] { MakeScenario(data, {}); });
  EXPECT_NE(what.find("still.jsonl"), std::string::npos) << what;
  EXPECT_NE(what.find("drawn actions"), std::string::npos) << what;
}

TEST(Nearest, RefusesASidecarOfOtherFeatures) {
  DatasetBuilder builder(SeedFeatureNames(), kExactColumns);
  for (const HandRow& hand : OneTask(4)) builder.Append(MakeRow(hand));
  builder.set_sidecar(FeatureSet::Extended().ToJson());
  const Dataset data = std::move(builder).Build();
  const std::string what = WhatOf(ErrorCode::kBadInput, [&] { MakeScenario(data, {}); });
  EXPECT_NE(what.find("describes 28 features, but a state has 10"), std::string::npos) << what;
}

TEST(DecisionTable, CoversTheEventsOfADecision) {
  const Dataset data = HandData(OneTask(7));
  const Trajectories trajectories(data, Order::kTask);
  const auto reward = MakeReward("balanced");
  for (const unsigned threads : {1U, 3U}) {
    const DecisionTable table({.dataset = data,
                               .trajectories = trajectories,
                               .reward = *reward,
                               .hold = 3,
                               .threads = threads});
    EXPECT_EQ(table.last(0), 2U);
    EXPECT_EQ(table.next(0), 3U);
    EXPECT_EQ(table.last(4), 6U);
    EXPECT_EQ(table.next(4), kNoRow) << "the decision ends with the trajectory";
    EXPECT_EQ(table.last(5), 6U) << "a short one";
    double terms[2];
    reward->FromOutcome(OutcomeAt(data, trajectories, 1, 3), terms);
    EXPECT_EQ(table.terms(1)[0], terms[0]);
    EXPECT_EQ(table.terms(1)[1], terms[1]);
  }
}

}  // namespace
}  // namespace kernelx
