// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/record/sensor.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "kernelx/ground/error.h"
#include "kernelx/ground/testing.h"

namespace kernelx {
namespace {

using std::chrono::milliseconds;

struct Seen final : SensorSink {
  std::vector<SchedEvent> events;
  uint64_t lost = 0;
  std::vector<int32_t> exits;
  void OnEvent(const SchedEvent& event) override { events.push_back(event); }
  void OnLost(uint64_t count) override { lost += count; }
  void OnExit(int32_t pid, uint64_t /*start_ns*/) override { exits.push_back(pid); }
  [[nodiscard]] std::vector<SchedEvent> Of(int32_t pid) const {
    std::vector<SchedEvent> of;
    for (const SchedEvent& event : events) {
      if (event.state.pid == pid) of.push_back(event);
    }
    return of;
  }
};

void SleepPeriodically() {
  prctl(PR_SET_NAME, "kx-periodic");
  for (;;) std::this_thread::sleep_for(milliseconds(2));
}

void Burn() {
  for (;;) __asm__ volatile("" ::: "memory");
}

/// Opens a sensor, or skips the test saying why it cannot.
#define OPEN_OR_SKIP(sensor, options)                                       \
  std::unique_ptr<Sensor> sensor;                                           \
  try {                                                                     \
    sensor = OpenSensor(options);                                           \
  } catch (const Error& error) {                                            \
    ASSERT_EQ(error.code(), ErrorCode::kMissingCapability) << error.what(); \
    GTEST_SKIP() << error.what();                                           \
  }

void Watch(Sensor& sensor, SensorSink& sink, milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    sensor.Drain(sink);
    std::this_thread::sleep_for(milliseconds(1));
  }
  sensor.Drain(sink);
}

/// pcount and run_delay of /proc/PID/schedstat: the kernel's own account.
std::pair<uint64_t, uint64_t> SchedStat(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/schedstat");
  uint64_t run = 0, delay = 0, count = 0;
  file >> run >> delay >> count;
  return {count, delay};
}

TEST(SensorTest, SeesAPeriodicTaskAsItIs) {
  const ChildProcess child(SleepPeriodically);
  std::this_thread::sleep_for(milliseconds(20));
  OPEN_OR_SKIP(sensor, (SensorOptions{.target = {.pids = {child.pid()}}}));
  Seen seen;
  Watch(*sensor, seen, milliseconds(300));
  const auto events = seen.Of(child.pid());
  ASSERT_GT(events.size(), 20u);
  EXPECT_EQ(events.size(), seen.events.size()) << "a task that is no target was reported";
  size_t timer = 0;
  for (size_t i = 1; i < events.size(); ++i) {
    const auto& f = events[i].state.features;
    EXPECT_EQ(events[i].name(), "kx-periodic");
    EXPECT_GT(events[i].state.timestamp_ns, events[i - 1].state.timestamp_ns);
    EXPECT_GE(f[kSlotExecNs], events[i - 1].state.features[kSlotExecNs]);
    EXPECT_EQ(f[kSlotStaticPrio], 120u);
    EXPECT_EQ(f[kSlotTgid], static_cast<uint64_t>(child.pid()));
    EXPECT_LT(f[kSlotCpu], 512u);
    if (f[kSlotWokenBy] != static_cast<uint64_t>(WokenBy::kTimer)) continue;
    ++timer;
    EXPECT_GT(f[kSlotSleepUs], 1500u);
    EXPECT_EQ(f[kSlotWakerPid], 0u);
  }
  EXPECT_GT(timer, events.size() / 2);
  // A switch-in an event: the kernel's own count of switches agrees (its tracepoint is silent for
  // one in some hundred on some kernels, for ftrace alike).
  const auto switches = [](const SchedEvent& event) {
    return static_cast<double>(event.state.features[kSlotVoluntary] +
                               event.state.features[kSlotInvoluntary]);
  };
  const auto counted = static_cast<double>(events.size() - 1);
  EXPECT_NEAR(switches(events.back()) - switches(events.front()), counted, 0.05 * counted);
  EXPECT_EQ(events.back().parent_tgid, getpid());
  EXPECT_EQ(events.back().uid, getuid());
  EXPECT_EQ(events.back().session, getsid(0));
  EXPECT_TRUE(events.back().fair());
}

TEST(SensorTest, WaitsAndCountsAreTheKernelsOwn) {
  // Three busy processes on one CPU: waits come from being preempted.
  const auto pinned = [] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof(one), &one);
    Burn();
  };
  const ChildProcess a(pinned), b(pinned), c(pinned);
  std::this_thread::sleep_for(milliseconds(20));
  OPEN_OR_SKIP(sensor, (SensorOptions{.target = {.pids = {a.pid(), b.pid(), c.pid()}}}));
  Seen seen;
  Watch(*sensor, seen, milliseconds(50));  // so that each has been switched in before the account
  const auto before = SchedStat(a.pid());
  const size_t first = seen.Of(a.pid()).size();
  Watch(*sensor, seen, milliseconds(800));
  const auto after = SchedStat(a.pid());
  Watch(*sensor, seen, milliseconds(2));
  auto events = seen.Of(a.pid());
  events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(first));
  uint64_t wait_us = 0, preempted = 0;
  for (const SchedEvent& event : events) {
    wait_us += event.state.features[kSlotWaitUs];
    preempted += event.state.features[kSlotWokenBy] == static_cast<uint64_t>(WokenBy::kNobody);
  }
  EXPECT_NEAR(static_cast<double>(events.size()), static_cast<double>(after.first - before.first),
              2);
  EXPECT_EQ(preempted, events.size());
  EXPECT_NEAR(static_cast<double>(wait_us), static_cast<double>(after.second - before.second) / 1e3,
              0.1 * static_cast<double>(wait_us) + 20e3);
  EXPECT_GT(wait_us, 200'000u);
}

TEST(SensorTest, FollowsATreeAndNeverTheIgnored) {
  std::array<int, 2> go{};
  ASSERT_EQ(pipe(go.data()), 0);
  const ChildProcess root([&] {
    char byte = 0;
    if (read(go[0], &byte, 1) != 1) _exit(1);
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "kx-grandchild");
        SleepPeriodically();
      }
      pause();
    }
    pause();
  });
  OPEN_OR_SKIP(sensor, (SensorOptions{.target = {.tree_roots = {root.pid()}}}));
  ASSERT_EQ(write(go[1], "x", 1), 1);
  Seen seen;
  Watch(*sensor, seen, milliseconds(200));
  std::map<std::string, int> names;
  for (const SchedEvent& event : seen.events) {
    ++names[std::string(event.name())];
    EXPECT_NE(event.state.pid, 0) << "idle is no task";
    EXPECT_NE(event.state.pid, getpid());
  }
  EXPECT_GT(names["kx-periodic"], 20);
  close(go[0]);
  close(go[1]);

  OPEN_OR_SKIP(all, (SensorOptions{.ignored_tgids = {getpid()}}));
  Seen everything;
  Watch(*all, everything, milliseconds(100));
  EXPECT_FALSE(everything.events.empty());
  EXPECT_TRUE(everything.Of(getpid()).empty());
  EXPECT_TRUE(everything.Of(0).empty());
}

TEST(SensorTest, CountsWhatTheRingCannotHold) {
  const ChildProcess child(SleepPeriodically);
  OPEN_OR_SKIP(sensor, (SensorOptions{.buffer_bytes = 4096}));
  const ChildProcess a([] {
    for (;;) sched_yield();
  });
  const ChildProcess b([] {
    for (;;) sched_yield();
  });
  std::this_thread::sleep_for(milliseconds(200));  // nobody drains: 22 events fill the ring
  Seen seen;
  sensor->Drain(seen);
  EXPECT_GT(seen.events.size(), 10u);
  EXPECT_GT(seen.lost, 0u);
  EXPECT_EQ(sensor->stats().dropped, seen.lost);
}

TEST(SensorTest, LooksAtATaskNoMoreOftenThanAsked) {
  const ChildProcess child(SleepPeriodically);
  OPEN_OR_SKIP(sensor,
               (SensorOptions{.target = {.pids = {child.pid()}}, .least_gap_ns = 20'000'000}));
  Seen seen;
  Watch(*sensor, seen, milliseconds(300));
  const auto events = seen.Of(child.pid());
  ASSERT_GT(events.size(), 3u);
  EXPECT_LE(events.size(), 17u);
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_GE(events[i].state.timestamp_ns - events[i - 1].state.timestamp_ns, 20'000'000u);
  }
  EXPECT_GT(sensor->stats().thinned, events.size());
}

TEST(SensorTest, TellsWhenATaskIsGone) {
  OPEN_OR_SKIP(sensor, SensorOptions{});
  pid_t pid = 0;
  {
    const ChildProcess child([] { pause(); });
    pid = child.pid();
    std::this_thread::sleep_for(milliseconds(10));
  }
  Seen seen;
  Watch(*sensor, seen, milliseconds(5));
  EXPECT_TRUE(std::find(seen.exits.begin(), seen.exits.end(), pid) != seen.exits.end());
}

TEST(SensorTest, RefusesATargetThatCannotBe) {
  OPEN_OR_SKIP(sensor, SensorOptions{});
  EXPECT_THROW(OpenSensor({.target = {.cgroups = {"no-such-group"}}}), Error);
  EXPECT_THROW(OpenSensor({}, "hearsay"), Error);
  EXPECT_THROW(sensor->AddTree(getpid()), Error);
}

}  // namespace
}  // namespace kernelx
