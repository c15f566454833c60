// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The raw transition: two consecutive switch-ins of one task and the action between them, as the
// recorder saw them. Integers stay 64-bit integers here; nothing has passed through a double.
#pragma once

#include <array>
#include <cstdint>
#include <string>

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

enum class DrawMode : uint8_t {
  kTask = 0,   ///< a draw a task and event
  kGroup = 1,  ///< a draw a command name and window
};

/// How the action of a row came about.
struct Behavior {
  bool known = false;  ///< the recording says; false for the seed's files
  bool drawn = false;  ///< set at random at `state_t`
  DrawMode mode = DrawMode::kTask;
  uint32_t window = 0;
  double p_draw = 0.0;  ///< probability of a draw at an event
  double p_zero = 0.0;  ///< probability that a draw is exactly 0; else Uniform(-1, 1)
};

/// What was read back from the kernel after the action was set.
struct Applied {
  bool known = false;
  bool in_force = false;  ///< seen in the task at its next event
  int32_t nice = 0;
  uint64_t slice_ns = 0;
  uint64_t at_ns = 0;  ///< CLOCK_MONOTONIC
};

struct RawTransition {
  RawState state;
  RawState next;
  double action = 0.0;
  int64_t reward = 0;  ///< wait(state) - wait(next), us
  Behavior behavior;
  Applied applied;
  std::string comm;  ///< empty where not recorded
};

}  // namespace kernelx
