// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// A machine that runs a load under EEVDF, event by event: CPUs with a queue each, a tick, wake-ups,
// preemption, placement of woken tasks, balancing. Small enough to read and exact enough to test
// the whole chain where the truth can be computed; it is no model of any particular machine.
//
// Not here: cgroups, real-time classes, NUMA, frequency, cache effects.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernelx/dataset/transition.h"
#include "kernelx/env/eevdf.h"
#include "kernelx/env/runqueue_load.h"
#include "kernelx/ground/rng.h"

namespace kernelx {

/// A value type: a copy is a clone that shares the luck of what is to come. Deterministic by load
/// and seed. Every task has its own stream of random numbers, so that an action changes when
/// things happen and not which bursts and arrivals there are.
class RunQueue {
 public:
  static constexpr int64_t kTickNs = 4'000'000;  ///< HZ 250

  /// Throws kUsage as `CheckLoad`.
  RunQueue(std::shared_ptr<const RunQueueLoad> load, uint64_t seed);

  /// Runs on to the next switch-in of a recorded task and returns the task's index in the load.
  uint32_t Next();

  [[nodiscard]] const RunQueueLoad& load() const { return *load_; }
  [[nodiscard]] int64_t now_ns() const { return now_; }
  /// What a recorder would see of the task at its last switch-in: slots as `RawSlot`. `util_avg`
  /// and `runnable_avg` are exponential means with a half-life of 32 ms.
  [[nodiscard]] RawState Observe(uint32_t task) const;
  /// Nice and slice in force.
  [[nodiscard]] KernelSetting setting(uint32_t task) const;

  /// Sets the task's nice and slice `delay_ns` from now; a later call replaces one under way.
  void Set(uint32_t task, const KernelSetting& setting, int64_t delay_ns);
  /// Other luck from here on.
  void Reseed(uint64_t seed);

  /// Timers, completions and ticks handled so far.
  [[nodiscard]] uint64_t events() const { return handled_; }
  /// CPU time used by the task up to its last charge, ns.
  [[nodiscard]] int64_t exec_ns(uint32_t task) const { return tasks_[task].exec; }
  /// Bursts the task has finished.
  [[nodiscard]] uint64_t completions(uint32_t task) const { return tasks_[task].completions; }

 private:
  enum class Place : uint8_t { kAsleep, kDelayed, kQueued, kRunning };
  enum class TimerKind : uint8_t { kWake, kArrival, kSet };

  struct Task {
    EevdfEntity entity;  // while off every queue; id is the task's index
    Rng rng;
    Place place = Place::kAsleep;
    uint32_t cpu = 0;
    int64_t work = 0;       // left of the current burst
    int64_t period = 0;     // the last period's begin
    uint32_t waiting = 0;   // requests or messages not begun
    uint64_t timer = 0;     // number of the `kSet` timer that counts
    KernelSetting setting;  // in force
    KernelSetting pending;  // to be
    int64_t exec = 0, runnable_since = 0, asleep_since = 0, slept = 0, exec_at_wake = 0;
    int64_t averaged_at = 0;
    double util = 0.0, runnable = 0.0;
    uint64_t voluntary = 0, involuntary = 0, migrations = 0, completions = 0;
    WokenBy woken_by = WokenBy::kNew;
    uint32_t waker = 0;
    // As seen at the last switch-in.
    uint64_t wait_us = 0, seen_runnable = 0, seen_switches = 0, seen_vruntime = 0;
    int64_t seen_at = 0;
    int previous_prio = 120;
    bool preempted_other = false;
  };
  struct Cpu {
    EevdfQueue queue;
    int64_t charged_at = 0;
    int64_t next_tick = 0;
    uint64_t ticks = 0, switches = 0;
    int last_prio = 120;
  };
  struct Timer {
    int64_t at;
    uint64_t number;
    uint32_t task;
    TimerKind kind;
    bool operator>(const Timer& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  void Begin(uint32_t task);
  void Step();
  void Fire(const Timer& timer);
  void Tick(uint32_t cpu);
  void Complete(uint32_t cpu);
  /// The task's burst is done: true when it has more to do at once.
  bool GoesOn(uint32_t task);
  /// The running task leaves the CPU, which the caller gives to another.
  void Sleep(uint32_t cpu);
  /// Whom a task of a crowd writes to.
  uint32_t NextOfCrowd(uint32_t task);
  void Wake(uint32_t task, WokenBy by, uint32_t waker, uint32_t waker_cpu);
  void Deliver(uint32_t to, uint32_t from);
  [[nodiscard]] uint32_t SelectCpu(uint32_t task, uint32_t waker_cpu) const;
  /// Accounts what ran on the CPU up to now; true when it should give way.
  bool Charge(uint32_t cpu);
  void Reschedule(uint32_t cpu);
  void SwitchTo(uint32_t cpu, uint32_t task);
  void Move(uint32_t task, uint32_t to);
  bool PullTo(uint32_t cpu);
  void Balance(uint32_t cpu);
  void Apply(uint32_t task);
  void UpdateAverages(Task& task) const;
  void SetTimer(int64_t at, uint32_t task, TimerKind kind);
  [[nodiscard]] int64_t Burst(uint32_t task);

  std::shared_ptr<const RunQueueLoad> load_;
  std::shared_ptr<const std::vector<std::vector<uint32_t>>> crowds_;
  std::vector<Task> tasks_;
  std::vector<Cpu> cpus_;
  std::vector<Timer> timers_;  // a heap
  std::vector<uint32_t> switched_;
  size_t reported_ = 0;
  int64_t now_ = 0;
  uint64_t numbered_ = 0;
  uint64_t handled_ = 0;
};

}  // namespace kernelx
