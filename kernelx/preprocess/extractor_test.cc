// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/preprocess/extractor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernelx/preprocess/test_recording.h"

namespace kernelx {
namespace {

const double kLn2 = std::log(2.0);

/// Feeds events and reads features of the extended set by name.
class Feed {
 public:
  void Take(const RawState& event, double standing_action = 0.0) {
    extractor_.Observe(event, standing_action, values_);
  }
  double operator[](const std::string& name) const {
    const int column = extractor_.set().Find(name);
    EXPECT_GE(column, 0) << name;
    return values_.at(static_cast<size_t>(column));
  }
  FeatureExtractor& extractor() { return extractor_; }

 private:
  FeatureExtractor extractor_{FeatureSet::Extended()};
  std::vector<double> values_ = std::vector<double>(FeatureSet::Extended().size());
};

constexpr uint64_t By(WokenBy by) { return static_cast<uint64_t>(by); }

TEST(Extractor, WritesSlotsScaledAndTransformed) {
  Feed feed;
  feed.Take(Event(1, 1000,
                  {{kSlotPrio, 113},
                   {kSlotExecNs, 1023},
                   {kSlotSwitches, 77},
                   {kSlotWaitUs, 7},
                   {kSlotCpuSinceWakeNs, 3000},
                   {kSlotUtilAvg, 256},
                   {kSlotRunnable, 15}}));
  EXPECT_EQ(feed["prio"], 113.0);
  EXPECT_NEAR(feed["exec_ns"], 10 * kLn2, 1e-15);
  EXPECT_EQ(feed["csw"], 77.0);
  EXPECT_EQ(feed["wt_us"], 7.0);
  EXPECT_NEAR(feed["wait"], 3 * kLn2, 1e-15);
  EXPECT_NEAR(feed["cpu_since_sleep"], 2 * kLn2, 1e-15);  // 3 us
  EXPECT_EQ(feed["util"], 0.25);
  EXPECT_NEAR(feed["runnable"], 4 * kLn2, 1e-15);
}

TEST(Extractor, MeansAreOfTheFirstEightThenExponential) {
  Feed feed;
  feed.Take(Event(1, 1, {{kSlotWaitUs, 0}}));
  EXPECT_EQ(feed["wait_ema"], 0.0);
  feed.Take(Event(1, 2, {{kSlotWaitUs, 7}}));
  EXPECT_NEAR(feed["wait_ema"], 3 * kLn2 / 2, 1e-15);
  feed.Take(Event(1, 3, {{kSlotWaitUs, 3}}));
  EXPECT_NEAR(feed["wait_ema"], 5 * kLn2 / 3, 1e-15);
  for (uint64_t i = 4; i <= 8; ++i) feed.Take(Event(1, i));
  EXPECT_NEAR(feed["wait_ema"], 5 * kLn2 / 8, 1e-15);
  feed.Take(Event(1, 9, {{kSlotWaitUs, 7}}));
  EXPECT_NEAR(feed["wait_ema"], 5 * kLn2 / 8 * 7 / 8 + 3 * kLn2 / 8, 1e-15);
}

TEST(Extractor, IrregularityIsTheChangeOfTheWakeInterval) {
  Feed feed;
  const auto wake = [&](uint64_t us, uint64_t wait_us) {
    feed.Take(
        Event(1, us + wait_us, {{kSlotWokenBy, By(WokenBy::kTimer)}, {kSlotWaitUs, wait_us}}));
  };
  wake(1000, 0);
  wake(2000, 500);  // woken at 2000, whatever it waited
  EXPECT_EQ(feed["wake_irregularity"], 1.0) << "one interval has no change yet";
  wake(4000, 0);  // 1000, then 2000 us: ln 2
  const double after = 1.0 + (kLn2 - 1.0) / 8;
  EXPECT_NEAR(feed["wake_irregularity"], after, 1e-12);
  feed.Take(Event(1, 4500, {{kSlotWokenBy, By(WokenBy::kNobody)}}));
  EXPECT_NEAR(feed["wake_irregularity"], after, 1e-12) << "a preemption is no wake";
  wake(6000, 0);  // 2000 again
  EXPECT_NEAR(feed["wake_irregularity"], after * 7 / 8, 1e-12);
  wake(6000 + 2'000'000'000, 0);  // a jump counts for 3 at most
  EXPECT_NEAR(feed["wake_irregularity"], after * 49 / 64 + 3.0 / 8, 1e-12);
}

TEST(Extractor, AMetronomeBecomesRegular) {
  Feed feed;
  for (uint64_t i = 1; i <= 42; ++i) {
    feed.Take(Event(1, 1000 * i, {{kSlotWokenBy, By(WokenBy::kTimer)}}));
  }
  EXPECT_NEAR(feed["wake_irregularity"], std::pow(7.0 / 8, 40), 1e-12);
}

TEST(Extractor, SharesCountWhoWoke) {
  Feed feed;
  uint64_t us = 0;
  for (const WokenBy by : {WokenBy::kTimer, WokenBy::kSoftirq, WokenBy::kHardirq, WokenBy::kTask,
                           WokenBy::kNobody, WokenBy::kNew}) {
    feed.Take(Event(1, ++us, {{kSlotWokenBy, By(by)}}));
  }
  EXPECT_NEAR(feed["timer_share"], 1.0 / 6, 1e-15);
  EXPECT_NEAR(feed["irq_share"], 2.0 / 6, 1e-15);
  EXPECT_NEAR(feed["task_share"], 1.0 / 6, 1e-15);
  EXPECT_NEAR(feed["preempted_share"], 1.0 / 6, 1e-15);
}

TEST(Extractor, NoveltyIsAnotherWakerThanTheLast) {
  Feed feed;
  uint64_t us = 0;
  const auto woken = [&](uint64_t waker, WokenBy by = WokenBy::kTask) {
    feed.Take(Event(1, ++us, {{kSlotWokenBy, By(by)}, {kSlotWakerPid, waker}}));
    return feed["waker_novelty"];
  };
  EXPECT_EQ(woken(10), 0.5);
  EXPECT_EQ(woken(11), 0.5625);  // 0.5 + 0.5 / 8
  EXPECT_EQ(woken(99, WokenBy::kTimer), 0.5625);
  EXPECT_EQ(woken(11), 0.5625 * 7 / 8);
}

TEST(Extractor, BurstIsTheCpuTimeBetweenEvents) {
  Feed feed;
  feed.Take(Event(1, 1, {{kSlotExecNs, 5'000'000}}));
  EXPECT_EQ(feed["burst_ema"], 0.0);
  feed.Take(Event(1, 2, {{kSlotExecNs, 5'007'000}}));
  EXPECT_NEAR(feed["burst_ema"], 3 * kLn2, 1e-15);
  feed.Take(Event(1, 3, {{kSlotExecNs, 5'010'000}}));
  EXPECT_NEAR(feed["burst_ema"], 5 * kLn2 / 2, 1e-15);
}

TEST(Extractor, BurstsOfHugeCountersAreExact) {
  Feed feed;
  const uint64_t big = (uint64_t{1} << 53) + 1;
  feed.Take(Event(1, 1, {{kSlotExecNs, big}}));
  feed.Take(Event(1, 2, {{kSlotExecNs, big + 7000}}));
  EXPECT_NEAR(feed["burst_ema"], 3 * kLn2, 1e-15);
}

TEST(Extractor, VoluntaryShareIsOfTheTasksSwitches) {
  Feed feed;
  uint64_t us = 0;
  const auto switches = [&](uint64_t voluntary, uint64_t involuntary) {
    feed.Take(Event(1, ++us, {{kSlotVoluntary, voluntary}, {kSlotInvoluntary, involuntary}}));
    return feed["voluntary_share"];
  };
  EXPECT_EQ(switches(5, 5), 0.5);
  EXPECT_EQ(switches(6, 5), 0.5625);
  EXPECT_EQ(switches(6, 6), 0.4921875);
  EXPECT_EQ(switches(6, 6), 0.4921875) << "no switch, no news";
  EXPECT_EQ(switches(7, 7), 0.4921875 + (0.5 - 0.4921875) / 8);
}

TEST(Extractor, SleepIsAveragedOverWakes) {
  Feed feed;
  feed.Take(Event(1, 1, {{kSlotWokenBy, By(WokenBy::kTimer)}, {kSlotSleepUs, 7}}));
  feed.Take(Event(1, 2, {{kSlotWokenBy, By(WokenBy::kNobody)}, {kSlotSleepUs, 0}}));
  EXPECT_NEAR(feed["sleep_ema"], 3 * kLn2, 1e-15);
  feed.Take(Event(1, 3, {{kSlotWokenBy, By(WokenBy::kTask)}, {kSlotSleepUs, 3}}));
  EXPECT_NEAR(feed["sleep_ema"], 5 * kLn2 / 2, 1e-15);
}

TEST(Extractor, FamilyLoadSumsTheThreadGroupAndDecays) {
  Feed feed;
  feed.Take(Event(50, 1000, {{kSlotTgid, 50}, {kSlotExecNs, 0}}));
  feed.Take(Event(50, 2000, {{kSlotTgid, 50}, {kSlotExecNs, 500'000}}));
  EXPECT_NEAR(feed["family_load"], 0.005, 1e-15);  // 500 us of 100 ms
  feed.Take(Event(51, 3000, {{kSlotTgid, 50}, {kSlotExecNs, 9'000'000}}));
  EXPECT_NEAR(feed["family_load"], 0.005 * std::exp(-0.01), 1e-15);
  feed.Take(Event(51, 13000, {{kSlotTgid, 50}, {kSlotExecNs, 19'000'000}}));
  EXPECT_NEAR(feed["family_load"], 0.005 * std::exp(-0.11) + 0.1, 1e-15);
  feed.Take(Event(60, 14000, {{kSlotTgid, 60}}));
  EXPECT_EQ(feed["family_load"], 0.0) << "another family";
  feed.Take(Event(70, 1000, {{kSlotExecNs, 0}}));
  feed.Take(Event(70, 2000, {{kSlotExecNs, 1'000'000}}));
  EXPECT_NEAR(feed["family_load"], 0.01, 1e-15) << "where no group is recorded, the task's own";
}

TEST(Extractor, PreviousActionIsTheOneThatStood) {
  Feed feed;
  feed.Take(Event(1, 1), -0.25);
  EXPECT_EQ(feed["previous_action"], -0.25);
  feed.Take(Event(1, 2), 0.0);
  EXPECT_EQ(feed["previous_action"], 0.0);
}

/// An event that does not go on from {1000 us, exec 8000, 5 voluntary, 5 involuntary}.
class Backwards : public ::testing::TestWithParam<RawState> {};

TEST_P(Backwards, StartsANewHistory) {
  Feed feed;
  for (const uint64_t us : {998, 999}) feed.Take(Event(1, us, {{kSlotWaitUs, 100}}));
  feed.Take(
      Event(1, 1000,
            {{kSlotExecNs, 8000}, {kSlotVoluntary, 5}, {kSlotInvoluntary, 5}, {kSlotWaitUs, 100}}));
  ASSERT_GT(feed["burst_ema"], 0.0);
  feed.Take(GetParam());
  EXPECT_EQ(feed["burst_ema"], 0.0);
  EXPECT_EQ(feed["voluntary_share"], 0.5);
  EXPECT_NEAR(feed["wait_ema"], 3 * kLn2, 1e-15) << "the mean of this event alone";
}

INSTANTIATE_TEST_SUITE_P(
    Counters, Backwards,
    ::testing::Values(
        Event(1, 999,
              {{kSlotExecNs, 9000}, {kSlotVoluntary, 6}, {kSlotInvoluntary, 6}, {kSlotWaitUs, 7}}),
        Event(1, 1000,
              {{kSlotExecNs, 9000}, {kSlotVoluntary, 6}, {kSlotInvoluntary, 6}, {kSlotWaitUs, 7}}),
        Event(1, 2000,
              {{kSlotExecNs, 7999}, {kSlotVoluntary, 6}, {kSlotInvoluntary, 6}, {kSlotWaitUs, 7}}),
        Event(1, 2000,
              {{kSlotExecNs, 9000}, {kSlotVoluntary, 4}, {kSlotInvoluntary, 6}, {kSlotWaitUs, 7}}),
        Event(
            1, 2000,
            {{kSlotExecNs, 9000}, {kSlotVoluntary, 6}, {kSlotInvoluntary, 4}, {kSlotWaitUs, 7}})));

TEST(Extractor, AReusedPidIsAnotherTask) {
  Feed feed;
  feed.Take(Event(1, 1, {{kSlotStartNs, 10}, {kSlotWaitUs, 7}}));
  feed.Take(Event(1, 2, {{kSlotStartNs, 20}, {kSlotWaitUs, 3}}));
  EXPECT_NEAR(feed["wait_ema"], 2 * kLn2, 1e-15);
  feed.Take(Event(1, 3, {{kSlotStartNs, 10}, {kSlotWaitUs, 7}}));
  EXPECT_NEAR(feed["wait_ema"], 3 * kLn2, 1e-15) << "the first task's own mean goes on";
  EXPECT_EQ(feed.extractor().LastEvent({1, 10}), 3000U);
  EXPECT_EQ(feed.extractor().LastEvent({1, 20}), 2000U);
}

TEST(Extractor, ForgettingEndsAHistory) {
  Feed feed;
  feed.Take(Event(1, 1, {{kSlotWaitUs, 100}}));
  feed.extractor().Forget({1, 0});
  EXPECT_EQ(feed.extractor().LastEvent({1, 0}), 0U);
  feed.Take(Event(1, 2, {{kSlotWaitUs, 7}}));
  EXPECT_NEAR(feed["wait_ema"], 3 * kLn2, 1e-15);
}

TEST(Extractor, ExtremeCountersStayFinite) {
  Feed feed;
  const uint64_t top = ~uint64_t{0};
  for (uint64_t i = 0; i < 3; ++i) {
    RawState event = Event(1, 1 + i);
    event.features.fill(top);
    feed.Take(event);
    for (const std::string& name : FeatureSet::Extended().names()) {
      EXPECT_TRUE(std::isfinite(feed[name])) << name;
    }
  }
}

}  // namespace
}  // namespace kernelx
