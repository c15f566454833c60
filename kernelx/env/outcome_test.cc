// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/outcome.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernelx/env/test_scenario.h"

namespace kernelx {
namespace {

std::vector<uint32_t> NextRows(const Dataset& data, Order order = Order::kTask) {
  const Trajectories trajectories(data, order);
  std::vector<uint32_t> next;
  for (uint32_t row = 0; row < data.size(); ++row) next.push_back(trajectories.next(row));
  return next;
}

TEST(Trajectories, RecordedOrderIsTheFiles) {
  EXPECT_EQ(NextRows(HandData(OneTask(3)), Order::kRecorded),
            (std::vector<uint32_t>{1, 2, kNoRow}));
}

TEST(Trajectories, TaskOrderFollowsTheTaskThroughTheOthers) {
  const auto a = OneTask(3, 1);
  const auto b = OneTask(2, 2);
  const Dataset data = HandData({a[0], b[0], a[1], b[1], a[2]});
  EXPECT_EQ(NextRows(data), (std::vector<uint32_t>{2, 3, 4, kNoRow, kNoRow}));
  const Trajectories trajectories(data, Order::kTask);
  EXPECT_EQ(trajectories.remaining(0), 3U);
  EXPECT_EQ(trajectories.remaining(1), 2U);
  EXPECT_EQ(trajectories.remaining(4), 1U);
}

TEST(Trajectories, RowsNeedNotBeInOrderOfTime) {
  const auto a = OneTask(3);
  EXPECT_EQ(NextRows(HandData({a[2], a[0], a[1]})), (std::vector<uint32_t>{kNoRow, 2, 0}));
}

TEST(Trajectories, AGapEndsOne) {
  auto rows = OneTask(3);
  rows.erase(rows.begin() + 1);
  EXPECT_EQ(NextRows(HandData(rows)), (std::vector<uint32_t>{kNoRow, kNoRow}));
}

TEST(Trajectories, AReusedPidIsAnotherTask) {
  auto rows = OneTask(3);
  rows[1].start_ns = rows[2].start_ns = 77;
  EXPECT_EQ(NextRows(HandData(rows)), (std::vector<uint32_t>{kNoRow, 2, kNoRow}));
}

TEST(Trajectories, ACounterThatRunsBackwardsEndsOne) {
  auto rows = OneTask(4);
  rows[1].next_exec_ns = 50'000;  // the pid was given to another task between the two events
  rows[2].exec_ns = 50'000;
  EXPECT_EQ(NextRows(HandData(rows)), (std::vector<uint32_t>{kNoRow, kNoRow, 3, kNoRow}));
  const Dataset seed = HandData(rows, 0);
  EXPECT_EQ(NextRows(seed), (std::vector<uint32_t>{kNoRow, kNoRow, 3, kNoRow}));
}

TEST(Trajectories, TimeThatRunsBackwardsEndsOne) {
  auto rows = OneTask(3);
  rows[1].next_us = rows[1].us - 1;
  EXPECT_EQ(NextRows(HandData(rows)), (std::vector<uint32_t>{kNoRow, kNoRow, kNoRow}));
}

TEST(Trajectories, WithoutTimestampsOfTheNextTheStatesMustMeet) {
  auto rows = OneTask(4);
  rows[2].wait_us += 1;  // not the state that row 1 ended in
  EXPECT_EQ(NextRows(HandData(rows, 0)), (std::vector<uint32_t>{1, kNoRow, 3, kNoRow}));
}

TEST(Trajectories, EqualTimesDoNotLoop) {
  std::vector<HandRow> rows(4, OneTask(1)[0]);
  for (auto& row : rows) row.next_us = row.us;
  const Dataset data = HandData(rows);
  const Trajectories trajectories(data, Order::kTask);
  for (uint32_t row = 0; row < 4; ++row) {
    EXPECT_LE(trajectories.remaining(row), 4U);
    EXPECT_GE(trajectories.remaining(row), 1U);
  }
}

TEST(Trajectories, OfTheSampleMeetInTimeAndState) {
  const Dataset& data = Sample();
  const Trajectories trajectories(data, Order::kTask);
  size_t linked = 0;
  for (uint32_t row = 0; row < data.size(); ++row) {
    const uint32_t next = trajectories.next(row);
    if (next == kNoRow) continue;
    ++linked;
    EXPECT_EQ(data.pid()[row], data.pid()[next]);
    EXPECT_EQ(data.next_timestamp_ns()[row], data.timestamp_ns()[next]);
    EXPECT_TRUE(std::ranges::equal(data.next_state(row), data.state(next)));
    EXPECT_EQ(trajectories.remaining(row), trajectories.remaining(next) + 1);
  }
  // All but the last row of each of the 41 tasks.
  EXPECT_EQ(linked, data.size() - 41);
}

TEST(Trajectories, NeedWhatOutcomesAreMadeOf) {
  DatasetBuilder builder({"a", "b"});
  Row row = MakeRow(OneTask(1)[0]);
  row.state = row.next_state = {0.0, 0.0};
  builder.Append(row);
  builder.set_source("two.jsonl");
  const Dataset data = std::move(builder).Build();
  EXPECT_NE(WhatOf(ErrorCode::kBadInput, [&] { Trajectories(data, Order::kTask); }).find("delta"),
            std::string::npos);
  EXPECT_NE(WhatOf(ErrorCode::kBadInput, [&] { Trajectories(data, Order::kRecorded); })
                .find("a state has only 2"),
            std::string::npos);
}

TEST(OutcomeAt, OneEventByHand) {
  const Dataset data = HandData(OneTask(3));
  const Trajectories trajectories(data, Order::kTask);
  const Outcome outcome = OutcomeAt(data, trajectories, 1, 1);
  EXPECT_EQ(outcome.events, 1);
  EXPECT_EQ(outcome.exec_us, 100.0);
  EXPECT_EQ(outcome.dt_us, 1000.0);
  EXPECT_NEAR(outcome.log_wait, std::log(21.0), 1e-15);             // the next wait: 20 us
  EXPECT_NEAR(outcome.log_slowdown, std::log(220.0 / 200), 1e-15);  // (20 + 100 + 100) / 200
  EXPECT_NEAR(outcome.seed_exec_gain, std::log(200'001.0) - std::log(100'001.0), 1e-12);
  EXPECT_EQ(outcome.seed_wait_gain, 10.0);
}

TEST(OutcomeAt, FiveEventsByHand) {
  const Dataset data = HandData(OneTask(8));
  const Trajectories trajectories(data, Order::kTask);
  const Outcome outcome = OutcomeAt(data, trajectories, 1, 5);
  EXPECT_EQ(outcome.events, 5);
  EXPECT_EQ(outcome.exec_us, 500.0);
  EXPECT_EQ(outcome.dt_us, 5000.0);
  double log_wait = 0.0;
  double log_slowdown = 0.0;
  for (const double wait : {20.0, 30.0, 40.0, 50.0, 60.0}) {
    log_wait += std::log(1 + wait) / 5;
    log_slowdown += std::log((wait + 200) / 200) / 5;
  }
  EXPECT_NEAR(outcome.log_wait, log_wait, 1e-14);
  EXPECT_NEAR(outcome.log_slowdown, log_slowdown, 1e-14);
  EXPECT_EQ(outcome.seed_wait_gain, 50.0);
}

TEST(OutcomeAt, TheEndOfATrajectoryCutsADecisionShort) {
  const Dataset data = HandData(OneTask(8));
  const Trajectories trajectories(data, Order::kTask);
  const Outcome outcome = OutcomeAt(data, trajectories, 6, 5);
  EXPECT_EQ(outcome.events, 2);
  EXPECT_EQ(outcome.exec_us, 200.0);
  EXPECT_NEAR(outcome.log_wait, (std::log(71.0) + std::log(81.0)) / 2, 1e-15);
}

TEST(OutcomeAt, WithoutNextTimestampsTimeIsToTheNextRow) {
  const Dataset data = HandData(OneTask(3), 0);
  const Trajectories trajectories(data, Order::kTask);
  EXPECT_EQ(OutcomeAt(data, trajectories, 0, 2).dt_us, 2000.0);
  EXPECT_EQ(OutcomeAt(data, trajectories, 0, 1).exec_us, 100.0) << "through inverse symlog";
  EXPECT_EQ(OutcomeAt(data, trajectories, 2, 1).dt_us, 0.0) << "unknown after the last row";
}

TEST(OutcomeAt, WhatRunsBackwardsCountsAsNone) {
  auto rows = OneTask(1);
  rows[0].exec_ns = 5000;
  rows[0].next_exec_ns = 4000;
  rows[0].next_us = 1;
  const Dataset data = HandData(rows);
  const Outcome outcome = OutcomeAt(data, Trajectories(data, Order::kTask), 0, 1);
  EXPECT_EQ(outcome.exec_us, 0.0);
  EXPECT_EQ(outcome.dt_us, 0.0);
}

TEST(OutcomeAt, RecordedOrderComparesRowsOfWhateverTask) {
  const auto a = OneTask(3, 1);
  const auto b = OneTask(1, 2);
  const Dataset data = HandData({a[2], b[0], a[0]});
  const Trajectories trajectories(data, Order::kRecorded);
  EXPECT_EQ(OutcomeAt(data, trajectories, 0, 1).seed_wait_gain, -20.0);
  EXPECT_EQ(OutcomeAt(data, trajectories, 0, 2).seed_wait_gain, -20.0);
  EXPECT_EQ(OutcomeAt(data, trajectories, 2, 1).events, 0);
}

TEST(OutcomeAt, CountersBeyondADoubleAreExact) {
  auto rows = OneTask(1);
  rows[0].exec_ns = (uint64_t{1} << 53) + 1;
  rows[0].next_exec_ns = rows[0].exec_ns + 3000;
  const Dataset data = HandData(rows);
  EXPECT_EQ(OutcomeAt(data, Trajectories(data, Order::kTask), 0, 1).exec_us, 3.0);
}

}  // namespace
}  // namespace kernelx
