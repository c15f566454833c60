// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/record/tracefs.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "kernelx/ground/error.h"
#include "kernelx/ground/testing.h"
#include "kernelx/record/sensor.h"
#include "kernelx/record/tracefs_sensor.h"

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
    std::copy_if(events.begin(), events.end(), std::back_inserter(of),
                 [&](const SchedEvent& event) { return event.state.pid == pid; });
    return of;
  }
};

void SleepPeriodically() {
  prctl(PR_SET_NAME, "kx-periodic");
  for (;;) std::this_thread::sleep_for(milliseconds(2));
}

void BurnOnCpu0() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof(one), &one);
  for (;;) __asm__ volatile("" ::: "memory");
}

/// Seen on a 6.18 virtual machine: for a while after it is enabled the kernel's event writes
/// nothing on one CPU; the ring's own count (per_cpu/cpuN/stats) agrees with what was read.
#define SKIP_WHEN_SILENT(silent) \
  if (silent) GTEST_SKIP() << "the kernel's tracepoint was silent on a CPU"

#define OPEN_OR_SKIP(sensor, rung, options)                                 \
  std::unique_ptr<Sensor> sensor;                                           \
  try {                                                                     \
    sensor = OpenSensor(options, rung);                                     \
  } catch (const Error& error) {                                            \
    ASSERT_EQ(error.code(), ErrorCode::kMissingCapability) << error.what(); \
    GTEST_SKIP() << error.what();                                           \
  }

void Watch(const std::vector<std::pair<Sensor*, SensorSink*>>& pairs, milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    for (const auto& [sensor, sink] : pairs) sensor->Drain(*sink);
    std::this_thread::sleep_for(milliseconds(2));
  }
  for (const auto& [sensor, sink] : pairs) sensor->Drain(*sink);
}

std::pair<uint64_t, uint64_t> SchedStat(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/schedstat");
  uint64_t run = 0, delay = 0, count = 0;
  file >> run >> delay >> count;
  return {count, delay};
}

uint64_t SumOfWaits(const std::vector<SchedEvent>& events) {
  uint64_t sum = 0;
  for (const SchedEvent& event : events) sum += event.state.features[kSlotWaitUs];
  return sum;
}

/// A page as the kernel lays it out.
class Page {
 public:
  explicit Page(uint64_t begin_ns) { Put(begin_ns), Put(uint64_t{0}); }
  template <typename T>
  Page& Put(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  Page& Entry(uint32_t type, uint32_t delta) { return Put(type | delta << 5); }
  std::vector<std::byte> Done(uint64_t flags = 0) {
    const uint64_t commit = (bytes_.size() - 16) | flags;
    std::memcpy(bytes_.data() + 8, &commit, sizeof(commit));
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(TracePageTest, ReadsEveryTypeOfEntry) {
  Page page(1000);
  page.Entry(2, 5).Put(uint64_t{7});                    // 8 bytes at 1005
  page.Entry(30, 3).Put(uint32_t{1});                   // + 2^27 + 3
  page.Entry(0, 1).Put(uint32_t{12}).Put(uint64_t{8});  // length by its own word
  page.Entry(29, 4).Put(uint32_t{8}).Put(uint32_t{0});  // discarded, time counts
  page.Entry(31, 9).Put(uint32_t{2});                   // at 2^28 + 9
  page.Entry(1, 0).Put(uint32_t{9});                    // 4 bytes
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  const auto take = [&](uint64_t at, std::span<const std::byte> payload) {
    uint64_t value = 0;
    std::memcpy(&value, payload.data(), std::min<size_t>(8, payload.size()));
    seen.emplace_back(at, value);
  };
  EXPECT_EQ(ReadTracePage(page.Done(), take), 0u);
  const std::vector<std::pair<uint64_t, uint64_t>> expected = {
      {1005, 7}, {1005 + (1u << 27) + 3 + 1, 8}, {(1u << 28) + 9, 9}};
  EXPECT_EQ(seen, expected);
}

TEST(TracePageTest, CountsWhatWasLostAndSurvivesDamage) {
  const auto nothing = [](uint64_t, std::span<const std::byte>) {};
  Page page(1);
  page.Entry(1, 0).Put(uint32_t{9});
  std::vector<std::byte> stored = page.Done(3u << 30);
  const uint64_t count = 42;
  stored.resize(stored.size() + 8);
  std::memcpy(stored.data() + stored.size() - 8, &count, 8);
  EXPECT_EQ(ReadTracePage(stored, nothing), 42u);
  EXPECT_EQ(ReadTracePage(Page(1).Done(1u << 31), nothing), 1u);

  std::vector<std::byte> noise(4096);
  uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    for (std::byte& byte : noise)
      byte = static_cast<std::byte>((state = state * 1664525 + 1) >> 24);
    ReadTracePage(noise, nothing);  // ends, and within the page (sanitizers watch)
  }
}

TEST(TraceFormatTest, FindsTheFields) {
  const TraceFormat format = ParseTraceFormat(
      "name: sched_switch\nID: 372\nformat:\n"
      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
      "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
      "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n");
  EXPECT_EQ(format.id, 372);
  EXPECT_EQ(format.at("prev_comm"), 8u);
  EXPECT_EQ(format.at("prev_pid"), 24u);
  EXPECT_THROW((void)format.at("next_pid"), Error);
}

TEST(TracefsSensorTest, SeesAPeriodicTaskAsItIs) {
  const ChildProcess child(SleepPeriodically);
  std::this_thread::sleep_for(milliseconds(20));
  OPEN_OR_SKIP(sensor, "tracefs", (SensorOptions{.target = {.pids = {child.pid()}}}));
  EXPECT_EQ(sensor->rung(), "tracefs");
  Seen seen;
  Watch({{sensor.get(), &seen}}, milliseconds(300));
  const auto events = seen.Of(child.pid());
  SKIP_WHEN_SILENT(events.size() <= 20);
  EXPECT_EQ(events.size(), seen.events.size()) << "a task that is no target was reported";
  size_t timer = 0;
  for (size_t i = 1; i < events.size(); ++i) {
    const auto& f = events[i].state.features;
    EXPECT_EQ(events[i].name(), "kx-periodic");
    EXPECT_GT(events[i].state.timestamp_ns, events[i - 1].state.timestamp_ns);
    EXPECT_GT(f[kSlotExecNs], events[i - 1].state.features[kSlotExecNs]);
    EXPECT_EQ(f[kSlotStaticPrio], 120u);
    if (f[kSlotWokenBy] != static_cast<uint64_t>(WokenBy::kTimer)) continue;
    ++timer;
    EXPECT_GT(f[kSlotSleepUs], 1500u);
    EXPECT_EQ(f[kSlotWakerPid], 0u);
  }
  EXPECT_GT(timer, events.size() / 2);
  EXPECT_EQ(events.back().parent_tgid, getpid());
  EXPECT_EQ(events.back().uid, getuid());
  EXPECT_EQ(events.back().session, getsid(0));
  EXPECT_EQ(events.back().state.features[kSlotTgid], static_cast<uint64_t>(child.pid()));
  EXPECT_GT(events.back().state.features[kSlotStartNs], 0u);
  EXPECT_TRUE(events.back().fair());
}

TEST(TracefsSensorTest, WaitsAndCountsAreTheKernelsOwn) {
  const ChildProcess a(BurnOnCpu0), b(BurnOnCpu0), c(BurnOnCpu0);
  std::this_thread::sleep_for(milliseconds(20));
  OPEN_OR_SKIP(sensor, "tracefs", (SensorOptions{.target = {.pids = {a.pid()}}}));
  Seen seen;
  Watch({{sensor.get(), &seen}}, milliseconds(50));
  const auto before = SchedStat(a.pid());
  const size_t first = seen.Of(a.pid()).size();
  Watch({{sensor.get(), &seen}}, milliseconds(800));
  const auto after = SchedStat(a.pid());
  Watch({{sensor.get(), &seen}}, milliseconds(2));
  auto events = seen.Of(a.pid());
  events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(first));
  const uint64_t delay_ns = after.second - before.second;
  if (delay_ns < 100'000'000) GTEST_SKIP() << "the kernel let it wait for " << delay_ns << " ns";
  SKIP_WHEN_SILENT(events.size() + 3 < after.first - before.first);
  const auto wait_us = static_cast<double>(SumOfWaits(events));
  EXPECT_NEAR(static_cast<double>(events.size()), static_cast<double>(after.first - before.first),
              2);
  EXPECT_NEAR(wait_us, static_cast<double>(after.second - before.second) / 1e3,
              0.1 * wait_us + 20e3);
}

TEST(TracefsSensorTest, AgreesWithTheBpfSensor) {
  const ChildProcess a(BurnOnCpu0), b(BurnOnCpu0), c(SleepPeriodically);
  std::this_thread::sleep_for(milliseconds(20));
  const SensorOptions options{.target = {.pids = {a.pid(), c.pid()}}};
  OPEN_OR_SKIP(bpf, "bpf", options);
  OPEN_OR_SKIP(traced, "tracefs", options);
  Seen by_bpf, by_trace, before;
  bpf->Drain(before);  // what came while the other was not attached yet
  Watch({{bpf.get(), &by_bpf}, {traced.get(), &by_trace}}, milliseconds(500));
  size_t both = 0, alone = 0, same = 0;
  for (const pid_t pid : {a.pid(), c.pid()}) {
    std::map<uint64_t, SchedEvent> theirs;
    for (const SchedEvent& event : by_bpf.Of(pid)) theirs[event.state.timestamp_ns] = event;
    for (const SchedEvent& event : by_trace.Of(pid)) {
      // The two take their time some hundred ns apart.
      const auto other = theirs.lower_bound(event.state.timestamp_ns - 300'000);
      if (other == theirs.end() || other->first > event.state.timestamp_ns + 300'000) {
        ++alone;
        continue;
      }
      ++both;
      const auto &f = event.state.features, &g = other->second.state.features;
      const int64_t gap_us = static_cast<int64_t>(f[kSlotWaitUs] - g[kSlotWaitUs]);
      same += f[kSlotWokenBy] == g[kSlotWokenBy] && f[kSlotPrio] == g[kSlotPrio] &&
              f[kSlotPreempted] == g[kSlotPreempted] && std::abs(gap_us) <= 300;
      theirs.erase(other);
    }
    alone += theirs.size();
  }
  SKIP_WHEN_SILENT(both <= 20 || alone > 6 + both / 20);
  EXPECT_GE(same + 6 + both / 20, both);  // each lacks the first wait of a task
}

TEST(TracefsSensorTest, FollowsATreeAndNeverTheIgnored) {
  std::array<int, 2> go{};
  ASSERT_EQ(pipe(go.data()), 0);
  const ChildProcess root([&] {
    char byte = 0;
    if (read(go[0], &byte, 1) != 1) _exit(1);
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      SleepPeriodically();
    }
    pause();
  });
  OPEN_OR_SKIP(sensor, "tracefs", (SensorOptions{.target = {.tree_roots = {root.pid()}}}));
  ASSERT_EQ(write(go[1], "x", 1), 1);
  Seen seen;
  Watch({{sensor.get(), &seen}}, milliseconds(200));
  size_t periodic = 0;
  for (const SchedEvent& event : seen.events) {
    periodic += event.name() == "kx-periodic";
    EXPECT_NE(event.state.pid, 0);
    EXPECT_NE(event.state.pid, getpid());
  }
  close(go[0]);
  close(go[1]);
  SKIP_WHEN_SILENT(periodic <= 20);

  OPEN_OR_SKIP(all, "tracefs", (SensorOptions{.ignored_tgids = {getpid()}}));
  Seen everything;
  Watch({{all.get(), &everything}}, milliseconds(100));
  EXPECT_FALSE(everything.events.empty());
  EXPECT_TRUE(everything.Of(getpid()).empty());
}

TEST(TracefsSensorTest, TellsWhatWasLostAndWhoIsGone) {
  OPEN_OR_SKIP(sensor, "tracefs", (SensorOptions{.buffer_bytes = 4096}));
  pid_t pid = 0;
  {
    const ChildProcess child([] { pause(); });
    pid = child.pid();
    std::this_thread::sleep_for(milliseconds(10));
  }
  Seen seen;
  Watch({{sensor.get(), &seen}}, milliseconds(5));
  SKIP_WHEN_SILENT(std::find(seen.exits.begin(), seen.exits.end(), pid) == seen.exits.end());
  const ChildProcess a([] {
    for (;;) sched_yield();
  });
  const ChildProcess b(SleepPeriodically), c(BurnOnCpu0);
  std::this_thread::sleep_for(milliseconds(1500));  // nobody drains: two pages a CPU fill up
  Watch({{sensor.get(), &seen}}, milliseconds(5));
  EXPECT_GT(seen.lost, 0u);
  EXPECT_EQ(sensor->stats().dropped, seen.lost);
}

TEST(TracefsSensorTest, LeavesNothingBehindAndClearsTheStale) {
  namespace fs = std::filesystem;
  const fs::path instances = "/sys/kernel/tracing/instances";
  pid_t dead = 0;
  {
    const ChildProcess child([] {});
    dead = child.pid();
  }
  const fs::path stale = instances / ("kernelx-" + std::to_string(dead) + "-0");
  std::error_code error;
  if (!fs::create_directory(stale, error)) GTEST_SKIP() << stale << ": " << error.message();
  const auto ours = [&] {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(instances)) {
      const std::string name = entry.path().filename();
      count += name.starts_with("kernelx-" + std::to_string(getpid()) + "-");
    }
    return count;
  };
  {
    OPEN_OR_SKIP(sensor, "tracefs", SensorOptions{});
    EXPECT_FALSE(fs::exists(stale));
    EXPECT_EQ(ours(), 1u);
  }
  EXPECT_EQ(ours(), 0u);
  EXPECT_THROW(OpenSensor({.target = {.cgroups = {"no-such-group"}}}, "tracefs"), Error);
  EXPECT_EQ(ours(), 0u);
}

}  // namespace
}  // namespace kernelx
