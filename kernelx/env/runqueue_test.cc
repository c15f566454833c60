// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/runqueue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

std::shared_ptr<const RunQueueLoad> Shared(RunQueueLoad load) {
  return std::make_shared<const RunQueueLoad>(std::move(load));
}

RunQueueLoad Of(std::vector<TaskSpec> tasks, uint32_t cpus = 2) {
  return {.cpus = cpus, .tasks = std::move(tasks), .messages = {}};
}

TaskSpec Hog(int nice = 0) { return {.kind = TaskKind::kHog, .comm = "hog", .nice = nice}; }

TaskSpec Periodic(double work_us, double period_us) {
  return {.kind = TaskKind::kPeriodic,
          .comm = "periodic",
          .burst = {.median_us = work_us},
          .period_us = period_us};
}

void RunFor(RunQueue& machine, double seconds) {
  const int64_t end = machine.now_ns() + static_cast<int64_t>(seconds * 1e9);
  while (machine.now_ns() < end) machine.Next();
}

/// Mean of ln(1 + wait us) over the switch-ins of one task of a crowd of 12 alone on two CPUs;
/// the first `boosted` of them are boosted.
double CrowdWait(uint32_t boosted) {
  RunQueueLoad load;
  for (int i = 0; i < 12; ++i) {
    load.tasks.push_back(
        {.kind = TaskKind::kMessaging, .comm = "crowd", .burst = {.median_us = 100, .sigma = 0.5}});
  }
  load.messages = {8};
  RunQueue machine(Shared(load), 1);
  for (uint32_t i = 0; i < boosted; ++i) machine.Set(i, SettingOf(-0.8), 0);
  double sum = 0.0;
  double n = 0.0;
  while (machine.now_ns() < 6'000'000'000) {
    const uint32_t task = machine.Next();
    if (task != 0) continue;
    sum += std::log1p(static_cast<double>(machine.Observe(0).features[kSlotWaitUs]));
    n += 1.0;
  }
  return sum / n;
}

TEST(RunQueue, SameSeedSameRunAndACopyGoesOnAlike) {
  const auto load = Shared(MixedLoad(3));
  RunQueue a(load, 5);
  RunQueue b(load, 5);
  RunQueue other(load, 6);
  bool differs = false;
  for (int i = 0; i < 5000; ++i) {
    const uint32_t task = a.Next();
    ASSERT_EQ(task, b.Next());
    ASSERT_EQ(a.Observe(task).features, b.Observe(task).features);
    differs |= other.Next() != task;
  }
  EXPECT_TRUE(differs);
  RunQueue copy = a;
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(a.Next(), copy.Next());
  EXPECT_EQ(a.now_ns(), copy.now_ns());
}

TEST(RunQueue, HogsShareByWeight) {
  RunQueue machine(Shared(Of({Hog(), Hog(5)}, 1)), 1);
  RunFor(machine, 20.0);
  const auto ratio =
      static_cast<double>(machine.exec_ns(0)) / static_cast<double>(machine.exec_ns(1));
  EXPECT_NEAR(ratio, 1024.0 / 335.0, 0.05);
}

TEST(RunQueue, NoCpuIdlesWhileATaskWaits) {
  RunQueue machine(Shared(Of({Hog(), Hog(), Hog()}, 2)), 1);
  const int64_t begin = machine.now_ns();
  RunFor(machine, 5.0);
  const int64_t used = machine.exec_ns(0) + machine.exec_ns(1) + machine.exec_ns(2);
  // Each CPU may have up to a tick that is not accounted yet.
  EXPECT_NEAR(static_cast<double>(used), 2.0 * static_cast<double>(machine.now_ns() - begin),
              3.0 * RunQueue::kTickNs);
}

TEST(RunQueue, APeriodicTaskAloneNeverWaits) {
  RunQueue machine(Shared(Of({Periodic(100, 2000)}, 1)), 1);
  const int64_t begin = machine.now_ns();
  for (int i = 0; i < 500; ++i) {
    const RawState event = machine.Observe(machine.Next());
    EXPECT_EQ(event.features[kSlotWaitUs], 0U);
    EXPECT_EQ(event.features[kSlotWokenBy], static_cast<uint64_t>(WokenBy::kTimer));
    EXPECT_EQ(event.features[kSlotInvoluntary], 0U);
    EXPECT_EQ(event.features[kSlotVoluntary], static_cast<uint64_t>(i));
  }
  EXPECT_NEAR(static_cast<double>(machine.now_ns() - begin), 500 * 2e6, 2e6);
  // 100 us of work and 1.5 us for the switch, 499 times.
  EXPECT_EQ(machine.exec_ns(0), 499 * 101'500);
}

TEST(RunQueue, CountersOfATaskOnlyGrow) {
  const auto load = Shared(MixedLoad(2));
  RunQueue machine(load, 2);
  std::vector<RawState> last(load->tasks.size());
  std::vector<bool> seen(load->tasks.size(), false);
  for (int i = 0; i < 50'000; ++i) {
    const uint32_t task = machine.Next();
    const RawState now = machine.Observe(task);
    if (seen[task]) {
      const RawState& before = last[task];
      EXPECT_GT(now.timestamp_ns, before.timestamp_ns);
      for (const RawSlot slot : {kSlotExecNs, kSlotVoluntary, kSlotInvoluntary, kSlotMigrations}) {
        EXPECT_GE(now.features[slot], before.features[slot]);
      }
      // It left the CPU exactly once in between.
      EXPECT_EQ(now.features[kSlotVoluntary] + now.features[kSlotInvoluntary],
                before.features[kSlotVoluntary] + before.features[kSlotInvoluntary] + 1);
      const uint64_t ran_us = (now.features[kSlotExecNs] - before.features[kSlotExecNs]) / 1000;
      EXPECT_LE(ran_us + now.features[kSlotWaitUs],
                (now.timestamp_ns - before.timestamp_ns) / 1000 + 1);
    }
    seen[task] = true;
    last[task] = now;
  }
}

TEST(RunQueue, BoostingOneOfACrowdHelpsItAndBoostingAllHelpsNobody) {
  const double none = CrowdWait(0);
  EXPECT_LT(CrowdWait(1), none - 0.5);
  // All have short slices now, but the same share: nothing like the gain of one alone.
  EXPECT_GT(CrowdWait(12), none - 0.2);
}

TEST(RunQueue, ADelayedSettingTakesHoldLater) {
  RunQueue machine(Shared(Of({Hog(), Hog()}, 1)), 1);
  machine.Set(0, SettingOf(0.5), 10'000'000);
  const int64_t begin = machine.now_ns();
  while (machine.now_ns() < begin + 30'000'000) {
    machine.Next();
    const bool later = machine.now_ns() >= begin + 10'000'000;
    EXPECT_EQ(machine.setting(0), SettingOf(later ? 0.5 : 0.0));
  }
}

TEST(RunQueueLoad, WhatMakesNoSenseIsRefused) {
  const auto refused = [](const RunQueueLoad& load) {
    try {
      CheckLoad(load);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kUsage;
    }
    return false;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(Of({Hog()}, 0)));
  EXPECT_TRUE(refused(Of({Periodic(100, 0)})));
  EXPECT_TRUE(refused(Of({Periodic(0, 1000)})));
  EXPECT_TRUE(refused(Of({{.kind = TaskKind::kMessaging, .comm = "alone"}})));
  EXPECT_FALSE(refused(Of({Hog()})));
}

TEST(RunQueueLoad, RecordedBurstsAreDrawnAsTheyAre) {
  RawTransition row;
  row.comm = "worker";
  row.next.features[kSlotExecNs] = 42'000;
  const BurstLaw law{.recorded = RecordedBursts({&row, 1}, "worker")};
  Rng rng(1);
  EXPECT_EQ(law.Draw(rng), 42.0);
  EXPECT_TRUE(RecordedBursts({&row, 1}, "other")->empty());
}

}  // namespace
}  // namespace kernelx
