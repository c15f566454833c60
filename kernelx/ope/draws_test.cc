// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernelx/env/test_scenario.h"

namespace kernelx {
namespace {

/// Eight transitions of task 1 and two of task 2, none drawn yet.
std::vector<Row> TwoTasks() {
  std::vector<Row> rows;
  for (const HandRow& hand : OneTask(8, 1)) rows.push_back(MakeRow(hand));
  for (const HandRow& hand : OneTask(2, 2)) rows.push_back(MakeRow(hand));
  for (Row& row : rows) {
    row.behavior = {.known = true, .p_draw = 0.1, .p_zero = 0.15};
    row.applied = {.known = true};
  }
  return rows;
}

void Draw(Row& row, double action, bool in_force, DrawMode mode = DrawMode::kTask) {
  row.action = action;
  row.behavior.drawn = true;
  row.behavior.mode = mode;
  row.applied.in_force = in_force;
}

Dataset Build(const std::vector<Row>& rows) {
  DatasetBuilder builder(SeedFeatureNames(),
                         kExactColumns | ColumnBits(Column::kBehavior, Column::kApplied));
  for (const Row& row : rows) builder.Append(row);
  builder.set_source("draws.jsonl");
  return std::move(builder).Build();
}

CollectedDraws Collect(const Dataset& data, int hold, DrawScope scope) {
  const Trajectories trajectories(data, Order::kTask);
  return CollectDraws(data, trajectories, *MakeReward("balanced"), hold, scope);
}

TEST(CollectDraws, TakesDrawsThatAreWholeAndTheTasksOwn) {
  auto rows = TwoTasks();
  Draw(rows[0], 0.5, true);
  Draw(rows[2], -0.25, false);                  // escaped
  Draw(rows[3], 0.75, true, DrawMode::kGroup);  // of a group
  Draw(rows[6], 0.1, true);                     // only two events to come
  Draw(rows[8], -1.0, true);                    // task 2 has two events in all
  const Dataset data = Build(rows);

  const auto all = Collect(data, 3, DrawScope::kIntentionToTreat);
  EXPECT_EQ(all.rows, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(all.draws.action, (std::vector<double>{0.5, -0.25}));
  EXPECT_EQ(all.draws.p_zero, (std::vector<double>{0.15, 0.15}));
  EXPECT_EQ(all.group_draws, 1U);
  EXPECT_EQ(all.short_ones, 2U);

  const auto treated = Collect(data, 3, DrawScope::kInForce);
  EXPECT_EQ(treated.rows, (std::vector<uint32_t>{0}));

  const auto single = Collect(data, 1, DrawScope::kIntentionToTreat);
  EXPECT_EQ(single.rows, (std::vector<uint32_t>{0, 2, 6, 8}));
  EXPECT_EQ(single.draws.cluster[0], single.draws.cluster[1]);
  EXPECT_NE(single.draws.cluster[0], single.draws.cluster[3]) << "a cluster is a task";
}

TEST(CollectDraws, RewardsAreTheLoggedOutcomes) {
  auto rows = TwoTasks();
  Draw(rows[1], -0.5, true);
  const auto collected = Collect(Build(rows), 2, DrawScope::kIntentionToTreat);
  const auto& rewards = collected.draws.rewards;
  ASSERT_EQ(rewards.size(), 6U);
  // Waits of 20 and 30 us after bursts of 100 us; 200 us of CPU in 2000 us.
  const double latency = -(std::log(220.0 / 200) + std::log(230.0 / 200)) / 2;
  const double price = -std::log(220.0 / 2100);
  const std::vector<std::pair<std::string, double>> expected = {
      {"total", latency + price - 0.025 - 0.025 + 1.0},
      {"latency", latency},
      {"price", price},
      {"effort", -0.025},
      {"stability", -0.025},  // from 0: these features do not tell what stood before
      {"format", 1.0}};
  for (size_t k = 0; k < expected.size(); ++k) {
    EXPECT_EQ(rewards[k].name, expected[k].first);
    ASSERT_EQ(rewards[k].value.size(), 1U);
    EXPECT_NEAR(rewards[k].value[0], expected[k].second, 1e-14) << rewards[k].name;
  }
}

TEST(CollectDraws, StabilityReadsWhatStoodBefore) {
  const Dataset& data = Sample();
  const auto collected = Collect(data, 1, DrawScope::kIntentionToTreat);
  const auto column = static_cast<size_t>(FeatureSet::Extended().Find("previous_action"));
  ASSERT_GT(collected.rows.size(), 200U);
  for (size_t i = 0; i < collected.rows.size(); ++i) {
    const uint32_t row = collected.rows[i];
    EXPECT_NEAR(collected.draws.rewards[4].value[i],
                -0.05 * std::abs(data.action()[row] - data.state(row)[column]), 1e-15);
  }
}

TEST(CollectDraws, FeaturesAreThoseAPolicyMaySee) {
  const Dataset& data = Sample();
  const auto columns = PolicyColumns(data);
  for (const size_t column : columns) {
    EXPECT_TRUE(FeatureSet::Extended().features()[column].policy);
  }
  const auto collected = Collect(data, 1, DrawScope::kInForce);
  EXPECT_EQ(collected.draws.feature_count, columns.size());
  for (size_t i = 0; i < collected.rows.size(); i += 50) {
    for (size_t c = 0; c < columns.size(); ++c) {
      EXPECT_EQ(collected.draws.features[i * columns.size() + c],
                data.state(collected.rows[i])[columns[c]]);
    }
  }
  EXPECT_EQ(PolicyColumns(Build(TwoTasks())).size(), 10U) << "all, where nothing is said";
}

TEST(CollectDraws, SaysWhyNothingCanBeJudged) {
  const Dataset seed = HandData(OneTask(4));
  EXPECT_NE(WhatOf(ErrorCode::kBadInput, [&] { Collect(seed, 1, DrawScope::kIntentionToTreat); })
                .find("no propensities"),
            std::string::npos);
  auto rows = TwoTasks();
  EXPECT_NE(
      WhatOf(ErrorCode::kBadInput, [&] { Collect(Build(rows), 1, DrawScope::kIntentionToTreat); })
          .find("no action was drawn at random"),
      std::string::npos);
  Draw(rows[0], 0.5, true, DrawMode::kGroup);
  Draw(rows[9], 0.5, true);
  const std::string what =
      WhatOf(ErrorCode::kBadInput, [&] { Collect(Build(rows), 5, DrawScope::kIntentionToTreat); });
  EXPECT_NE(what.find("1 are of a whole group and 1 stand at the end"), std::string::npos) << what;
}

TEST(PolicyColumns, RefusesASidecarOfOtherFeatures) {
  DatasetBuilder builder(SeedFeatureNames(), kExactColumns);
  builder.Append(MakeRow(OneTask(1)[0]));
  builder.set_sidecar(FeatureSet::Extended().ToJson());
  const Dataset data = std::move(builder).Build();
  WhatOf(ErrorCode::kBadInput, [&] { PolicyColumns(data); });
}

}  // namespace
}  // namespace kernelx
