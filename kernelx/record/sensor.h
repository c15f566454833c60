// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The sensor: every switch-in of the targeted tasks, from the running kernel.
// Not here: files (kxr.h), features (preprocess), changes to any task (act).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernelx/record/event.h"
#include "kernelx/record/target.h"

namespace kernelx {

struct SensorOptions {
  TargetSpec target = {};
  /// Of the ring buffer; a power of two times the page size.
  size_t buffer_bytes = size_t{8} << 20;
  /// Never reported: the caller's own process, and its supervisor.
  std::vector<int32_t> ignored_tgids = {};
  /// Of a task at most one event in this time is handed out; 0: every one. Counters of the next one
  /// hold what was left out.
  uint64_t least_gap_ns = 0;
  bool measure_cost = false;  ///< lets the kernel time the sensor's programs (which costs as well)
};

struct SensorStats {
  uint64_t events = 0;    ///< handed out
  uint64_t dropped = 0;   ///< lost because the buffer was full, over all CPUs
  uint64_t filtered = 0;  ///< switch-ins that were no target, told apart inside the kernel
  double kernel_s = 0.0;  ///< CPU time of the kernel side, with `measure_cost`
  uint64_t thinned = 0;   ///< left out by `least_gap_ns`
  uint64_t collided = 0;  ///< events without their wait: two tasks shared a slot of the kernel side
};

/// What the kernel was seen to do, in order of time a CPU; across CPUs within a drain in order of
/// time as well.
class SensorSink {
 public:
  virtual ~SensorSink() = default;
  virtual void OnEvent(const SchedEvent& event) = 0;
  /// `count` events were lost before the next one: no task's history goes on across it.
  virtual void OnLost(uint64_t count) = 0;
  /// The task is gone; its pid may be reused.
  virtual void OnExit(int32_t /*pid*/, uint64_t /*start_ns*/) {}
};

/// Attached from construction to destruction. Not thread-safe. Costs the machine nothing after
/// destruction.
class Sensor {
 public:
  virtual ~Sensor() = default;
  /// The way it is attached: `bpf`, or `tracefs` (tracefs_sensor.h: fewer slots).
  [[nodiscard]] virtual std::string rung() const = 0;
  /// Hands out what has come since the last call. Never blocks: the ring wakes nobody, the caller
  /// drains on a timer of its own.
  virtual void Drain(SensorSink& sink) = 0;
  [[nodiscard]] virtual SensorStats stats() const = 0;
  /// Adds a process tree to the targets (a command started after the sensor was attached). Needs a
  /// `tree_roots` at opening, so that the kernel side follows forks.
  virtual void AddTree(int32_t root_tgid) = 0;
};

/// The best rung this machine allows, `bpf` before `tracefs`, or the one named. Throws
/// kMissingCapability saying what is missing and the mend.
[[nodiscard]] std::unique_ptr<Sensor> OpenSensor(const SensorOptions& options,
                                                 const std::string& rung = "");

/// The process and its descendants as they are now, the root first.
[[nodiscard]] std::vector<int32_t> TreeOf(int32_t root_tgid);

}  // namespace kernelx
