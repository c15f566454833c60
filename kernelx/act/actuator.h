// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// From an action in [-1, 1] to a task's nice value and slice, and back to what they were.
// Not here: who may be touched and how often (live), and who cleans up after a crash (journal.h).
#pragma once

#include <cstdint>
#include <optional>

namespace kernelx {

/// What the kernel holds of a task's place in the fair class.
struct SchedParams {
  uint32_t policy = 0;  ///< SCHED_NORMAL 0, BATCH 3, IDLE 5; others are not ours
  int32_t nice = 0;
  uint64_t slice_ns = 0;  ///< 0: the kernel's default, or a kernel without slices
  uint64_t flags = 0;
  friend bool operator==(const SchedParams&, const SchedParams&) = default;
};

/// nice = own nice + round(10 a), clamped to [-20, 19].
[[nodiscard]] int NiceOf(double action, int own_nice);
/// 1.4 ms x exp(2.64 a), clamped to [0.1, 20] ms.
[[nodiscard]] uint64_t SliceNsOf(double action);

/// Reads a task's parameters; nothing when it is gone or may not be read (errno in `*error`).
[[nodiscard]] std::optional<SchedParams> ReadSched(int32_t tid, int* error = nullptr);

enum class ApplyResult : uint8_t {
  kApplied,   ///< read back as asked
  kMismatch,  ///< taken, but reads back otherwise
  kGone,      ///< ESRCH, or the pid belongs to another task now
  kRefused,   ///< EPERM, EINVAL
};

/// Read, modify, write, read back: everything but nice and slice stays. `now` gets what was read
/// back. Only fair tasks; others are kRefused.
ApplyResult WriteSched(int32_t tid, int nice, uint64_t slice_ns, SchedParams* now);

/// Start time of the task in ns since boot as `kSlotStartNs` has it, to the clock tick that /proc
/// shows; 0 when it is gone. Tells a reused pid apart.
[[nodiscard]] uint64_t StartNsOf(int32_t tid);

}  // namespace kernelx
