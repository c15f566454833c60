// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/ground/error.h"
#include "kernelx/live/explorer.h"
#include "kernelx/live/governor.h"

namespace kernelx {
namespace {

constexpr uint64_t kMs = 1'000'000;

SchedEvent EventOf(const std::string& name, int32_t pid, uint64_t at_ns) {
  SchedEvent event;
  event.state.pid = pid;
  event.state.timestamp_ns = at_ns;
  event.state.features[kSlotTgid] = static_cast<uint64_t>(pid);
  std::strncpy(event.comm.data(), name.c_str(), event.comm.size() - 1);
  return event;
}

TEST(GovernorTest, TouchesOnlyFairTasksThatAreNotSpared) {
  const Governor governor({.spared = {"sshd"}});
  EXPECT_TRUE(governor.MayTouch(EventOf("worker", 100, 1)));
  EXPECT_FALSE(governor.MayTouch(EventOf("sshd", 100, 1)));
  EXPECT_FALSE(governor.MayTouch(EventOf("init", 1, 1)));
  SchedEvent thread_of_init = EventOf("worker", 100, 1);
  thread_of_init.state.features[kSlotTgid] = 1;
  EXPECT_FALSE(governor.MayTouch(thread_of_init));
  for (const uint8_t sched_class : {1, 2, 6, 7}) {
    SchedEvent event = EventOf("worker", 100, 1);
    event.sched_class = sched_class;
    EXPECT_FALSE(governor.MayTouch(event)) << int{sched_class};
  }
}

TEST(GovernorTest, BoundsDeadBandAndRest) {
  Governor governor({.most_boost = 0.5, .most_demote = 0.2, .rest_ns = 20 * kMs});
  EXPECT_EQ(governor.Bound(-1.0), -0.5);
  EXPECT_EQ(governor.Bound(1.0), 0.2);
  const auto rule = [&](double to, double from, uint64_t changed_ns, uint64_t now_ns) {
    return governor.Rule({.action = to}, from, changed_ns, now_ns);
  };
  EXPECT_EQ(rule(-0.1, 0.0, 0, kMs), Ruling::kSmall);
  EXPECT_EQ(rule(0.0, 0.0, 0, kMs), Ruling::kSmall);
  EXPECT_EQ(rule(-0.2, 0.0, 0, kMs), Ruling::kAct);
  EXPECT_EQ(rule(0.0, -0.1, kMs, 30 * kMs), Ruling::kAct) << "back to its own is never too small";
  EXPECT_EQ(rule(-0.4, 0.0, kMs, 20 * kMs), Ruling::kRest);
  EXPECT_EQ(rule(-0.4, 0.0, kMs, 21 * kMs), Ruling::kAct);
  const Decision draw{.action = 0.01, .drawn = true};
  EXPECT_EQ(governor.Rule(draw, 0.0, kMs, 2 * kMs), Ruling::kAct) << "draws act as logged";
}

TEST(GovernorTest, AllTasksTogetherAreLimitedASecond) {
  Governor governor({.nudges_per_s = 3});
  int acted = 0;
  for (int i = 0; i < 10; ++i) acted += governor.Rule({.action = 1}, 0, 0, kMs) == Ruling::kAct;
  EXPECT_EQ(acted, 3);
  EXPECT_EQ(governor.Rule({.action = 1.0}, 0.0, 0, 1001 * kMs), Ruling::kAct);
}

std::vector<std::optional<Decision>> Draw(uint64_t seed, double p_draw, double p_zero, int count) {
  Explorer explorer({.p_draw = p_draw, .p_zero = p_zero, .seed = seed});
  const std::vector<double> values(explorer.features().size());
  std::vector<std::optional<Decision>> decisions;
  for (int i = 0; i < count; ++i) {
    decisions.push_back(explorer.Decide(
        EventOf("t", 100 + i % 7, (1 + static_cast<uint64_t>(i)) * kMs), values, Standing{}));
  }
  return decisions;
}

TEST(ExplorerTest, DrawsAsOftenAsItsOddsSay) {
  int events = 0, drawn = 0, zero = 0;
  double sum = 0.0;
  for (const auto& decision : Draw(7, 0.2, 0.25, 200'000)) {
    if (decision && decision->mode == 1) continue;
    ++events;
    if (!decision) continue;
    EXPECT_EQ(decision->p_draw, 0.2);
    EXPECT_EQ(decision->p_zero, 0.25);
    ++drawn;
    zero += decision->action == 0.0;
    sum += decision->action;
  }
  // Modes are drawn a window of 2 s, 100 of them: a half is within five standard deviations.
  ASSERT_GT(drawn, 5'000);
  ASSERT_GT(events, 25 * 2'000);
  EXPECT_NEAR(zero / static_cast<double>(drawn), 0.25, 0.03);
  EXPECT_NEAR(sum / drawn, 0.0, 0.03);
}

TEST(ExplorerTest, ASeedFixesEveryDraw) {
  const auto actions = [](uint64_t seed) {
    std::vector<double> all;
    for (const auto& d : Draw(seed, 0.3, 0.1, 5'000)) all.push_back(d ? d->action : 9.0);
    return all;
  };
  EXPECT_EQ(actions(3), actions(3));
  EXPECT_NE(actions(3), actions(4));
}

TEST(ExplorerTest, AGroupWindowHasOneActionAName) {
  std::map<std::pair<uint32_t, std::string>, double> actions;
  Explorer explorer({.p_draw = 0.2, .seed = 5});
  const std::vector<double> values(explorer.features().size());
  int repeated = 0;
  for (int i = 0; i < 40'000; ++i) {
    const std::string name = i % 2 == 0 ? "even" : "odd";
    const auto decision = explorer.Decide(
        EventOf(name, 100 + i % 8, (1 + static_cast<uint64_t>(i)) * kMs), values, Standing{});
    if (!decision || decision->mode != 1) continue;
    EXPECT_TRUE(decision->drawn);
    const auto [at, fresh] = actions.emplace(std::pair(decision->window, name), decision->action);
    repeated += fresh ? 0 : 1;
    EXPECT_EQ(at->second, decision->action);
    const Standing standing{.decision = *decision, .events = 1, .decided = true};
    EXPECT_FALSE(explorer.Decide(EventOf(name, 100 + i % 8, (1 + static_cast<uint64_t>(i)) * kMs),
                                 values, standing))
        << "a draw stands to the end of its window";
  }
  EXPECT_GT(repeated, 1'000);
  EXPECT_GT(actions.size(), 4u);
}

TEST(ExplorerTest, RefusesOddsThatAreNone) {
  EXPECT_THROW(Explorer({.p_draw = 1.1}), Error);
  EXPECT_THROW(Explorer({.p_zero = -0.1}), Error);
}

}  // namespace
}  // namespace kernelx
