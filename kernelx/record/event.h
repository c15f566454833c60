// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The event: one switch-in of a task, as a sensor saw it. Integers stay 64-bit integers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kernelx {

inline constexpr int kRawFeatures = 24;

/// Slots of `RawState::features`. The seed's recordings fill 0-7, 12 and 23 only.
enum RawSlot : int {
  kSlotCpu = 0,
  kSlotPrio = 1,
  kSlotStaticPrio = 2,
  kSlotNormalPrio = 3,
  kSlotExecNs = 4,      ///< se.sum_exec_runtime
  kSlotVruntimeNs = 5,  ///< may sit just below 2^64
  kSlotMigrations = 6,
  kSlotCpusAllowed = 7,
  kSlotRunnable = 8,  ///< runnable tasks on this CPU
  kSlotWokenBy = 9,   ///< a `WokenBy`
  kSlotWakerPid = 10,
  kSlotSleepUs = 11,    ///< sleep before this wake
  kSlotSwitches = 12,   ///< context switches of this CPU
  kSlotVoluntary = 13,  ///< voluntary switches of the task
  kSlotInvoluntary = 14,
  kSlotSliceNs = 15,
  kSlotUtilAvg = 16,
  kSlotPreviousPrio = 17,  ///< prio of the task switched out
  kSlotPreempted = 18,     ///< that switch was a preemption
  kSlotTgid = 19,
  kSlotCpuSinceWakeNs = 20,
  kSlotRunnableAvg = 21,
  kSlotStartNs = 22,  ///< start time of the task, ns since boot; 0 where not recorded
  kSlotWaitUs = 23,   ///< from becoming runnable to running
};

/// Slot 9.
enum class WokenBy : uint8_t {
  kNobody = 0,  ///< was preempted while runnable
  kTimer = 1,
  kSoftirq = 2,
  kHardirq = 3,
  kTask = 4,
  kNew = 5,
};

/// One switch-in of a task.
struct RawState {
  std::array<uint64_t, kRawFeatures> features{};
  uint64_t timestamp_ns = 0;
  int32_t pid = 0;
  int32_t cpu = 0;
};

/// `RawState` and what else the kernel knew of the task at that moment.
struct SchedEvent {
  RawState state;
  std::array<char, 16> comm{};  ///< NUL-terminated
  uint64_t cgroup_id = 0;       ///< of the default hierarchy; 0 where not known
  int32_t session = 0;          ///< session id; 0 where not known
  int32_t parent_tgid = 0;      ///< 0 where not known
  uint32_t uid = 0;
  uint8_t sched_class = 0;  ///< SCHED_NORMAL 0, FIFO 1, RR 2, BATCH 3, IDLE 5, DEADLINE 6, EXT 7

  [[nodiscard]] std::string_view name() const { return comm.data(); }
  /// Scheduled by the fair class, the only one that has a nice value and a slice.
  [[nodiscard]] bool fair() const {
    return sched_class == 0 || sched_class == 3 || sched_class == 5;
  }
};

}  // namespace kernelx
