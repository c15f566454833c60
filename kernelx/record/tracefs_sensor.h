// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The second rung behind sensor.h: the kernel's trace events, where BPF is refused or not built in.
//
// It reports the same switch-ins and waits as the BPF rung, from sched_switch and sched_waking, and
// tells targets apart in this process: every switch of the machine is read. What the slots hold:
// - as with BPF: cpu, prio, wait, woken by, waker, sleep, previous prio, preempted;
// - counted since the sensor first saw the task: exec_ns and cpu since wake (interrupts included),
//   migrations, voluntary and involuntary switches; since it was attached: switches of the CPU;
// - read once per task from /proc: tgid, parent, session, uid, class, cgroup, start (10 ms steps;
//   the time of the fork where the task had gone before it could be read); static and normal prio
//   are those of `prio`;
// - zero: vruntime, CPUs allowed, runnable, slice, util_avg, runnable_avg.
// A loss is counted in trace events, of which a switch-in has about two. `measure_cost` is not
// heeded.
#pragma once

#include <memory>

#include "kernelx/record/sensor.h"

namespace kernelx {

/// Throws kMissingCapability with the kernel's reason and the mend; kUsage for a cgroup that is not
/// there.
[[nodiscard]] std::unique_ptr<Sensor> OpenTracefsSensor(const SensorOptions& options);

}  // namespace kernelx
