// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/eevdf.h"

#include <gtest/gtest.h>

#include <array>

namespace kernelx {
namespace {

EevdfQueue TwoEqual() {
  EevdfQueue queue;
  queue.Enqueue({.id = 0});
  queue.Enqueue({.id = 1});
  queue.Run(0);
  return queue;
}

TEST(Eevdf, WeightsAreTheKernels) {
  EXPECT_EQ(NiceWeight(0), 1024U);
  EXPECT_EQ(NiceWeight(-20), 88761U);
  EXPECT_EQ(NiceWeight(-10), 9548U);
  EXPECT_EQ(NiceWeight(10), 110U);
  EXPECT_EQ(NiceWeight(19), 15U);
  EXPECT_EQ(NiceWeight(40), 15U);
}

TEST(Eevdf, ActionBecomesNiceAndSlice) {
  EXPECT_EQ(SettingOf(0.0), (KernelSetting{.nice = 0, .slice_ns = 1'400'000}));
  EXPECT_EQ(SettingOf(-1.0), (KernelSetting{.nice = -10, .slice_ns = 100'000}));  // at the bound
  EXPECT_EQ(SettingOf(1.0).nice, 10);
  EXPECT_NEAR(static_cast<double>(SettingOf(1.0).slice_ns), 19.6184e6, 1e3);
  EXPECT_NEAR(static_cast<double>(SettingOf(-0.5).slice_ns), 373'990, 100);
  EXPECT_EQ(SettingOf(-5.0), SettingOf(-1.0));
  EXPECT_EQ(SettingOf(0.0, 3).nice, 3);
}

TEST(Eevdf, UsedSliceGivesWayToTheOneBehind) {
  EevdfQueue queue = TwoEqual();
  EXPECT_FALSE(queue.Charge(1'000'000));  // its slice goes on to 1.4 ms
  EXPECT_TRUE(queue.Charge(400'000));
  EXPECT_EQ(queue.Average(), 700'000);
  EXPECT_FALSE(queue.Eligible(0));
  EXPECT_EQ(queue.Pick(), 1U);
}

TEST(Eevdf, CpuFollowsWeight) {
  EevdfQueue queue;
  queue.Enqueue({.id = 0, .weight = NiceWeight(-5)});
  queue.Enqueue({.id = 1});
  std::array<double, 2> used{};
  for (int i = 0; i < 20000; ++i) {
    queue.Run(queue.Pick());
    used[queue.running()] += 1.0;
    queue.Charge(1'000'000);
  }
  EXPECT_NEAR(used[0] / used[1], 3121.0 / 1024.0, 0.01);
}

TEST(Eevdf, LagSurvivesSleep) {
  EevdfQueue queue = TwoEqual();
  queue.Charge(1'000'000);
  const EevdfEntity asleep = queue.Remove(0);
  EXPECT_EQ(asleep.lag, -500'000);  // average 0.5 ms, own 1 ms
  EXPECT_EQ(queue.Average(), 0);
  queue.Enqueue(asleep);
  EXPECT_EQ(queue.Find(0).vruntime, 1'000'000);
  EXPECT_EQ(queue.Average() - queue.Find(0).vruntime, -500'000);
}

TEST(Eevdf, EarliestDeadlineAmongTheEligibleRuns) {
  EevdfQueue queue;
  queue.Enqueue({.id = 0, .slice_ns = 3'000'000});
  queue.Enqueue({.id = 1, .slice_ns = 1'000'000});
  queue.Enqueue({.id = 2, .slice_ns = 100'000, .lag = -50'000});  // soonest, but owes time
  EXPECT_FALSE(queue.Eligible(2));
  EXPECT_EQ(queue.Pick(), 1U);
}

TEST(Eevdf, OnlyAShorterSliceBreaksProtection) {
  EevdfQueue queue;
  queue.Enqueue({.id = 0});
  queue.Run(0);
  queue.Charge(500'000);
  queue.Enqueue({.id = 1, .weight = NiceWeight(-10)});  // deadline earlier by its weight
  EXPECT_FALSE(queue.Preempts(1));
  queue.Enqueue({.id = 2, .slice_ns = 100'000});
  EXPECT_TRUE(queue.Preempts(2));
}

TEST(Eevdf, DebtIsPaidOffWhileDelayed) {
  EevdfQueue queue = TwoEqual();
  queue.Charge(1'000'000);
  EXPECT_TRUE(queue.DelaySleep());
  EXPECT_EQ(queue.runnable(), 1U);
  EXPECT_EQ(queue.Pick(), 1U);
  queue.Run(1);
  queue.Charge(3'000'000);  // average 2 ms: the sleeper is ahead by 1 ms, which it is not owed
  queue.WakeDelayed(0);
  EXPECT_EQ(queue.runnable(), 2U);
  EXPECT_EQ(queue.Find(0).vruntime, 3'000'000);
  EXPECT_EQ(queue.Average(), 3'000'000);
}

TEST(Eevdf, ReweighingKeepsTheShareOwed) {
  EevdfQueue queue = TwoEqual();
  queue.Charge(1'000'000);
  queue.Reweigh(0, 512, 2'000'000);
  // It owes 0.5 ms of CPU as before: lag -0.5 ms at weight 1024 is -1 ms at 512.
  EXPECT_EQ(queue.running(), 0U);
  EXPECT_NEAR(static_cast<double>(queue.Average() - queue.Find(0).vruntime), -1e6, 1.0);
  EXPECT_EQ(queue.Find(0).deadline - queue.Find(0).vruntime, 800'000);
  EXPECT_EQ(queue.weight(), 1536);
}

}  // namespace
}  // namespace kernelx
