// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Events in, features out: the same code over a recording and on a live kernel. A task's running
// statistics live here, keyed by pid and start time.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "kernelx/dataset/transition.h"
#include "kernelx/preprocess/feature_set.h"

namespace kernelx {

/// Who a task is: pids are reused, so the start time (0 where not recorded) belongs to it.
struct TaskId {
  int32_t pid = 0;
  uint64_t start_ns = 0;
  friend bool operator==(const TaskId&, const TaskId&) = default;
};

struct TaskIdHash {
  size_t operator()(const TaskId& id) const {
    return (id.start_ns ^ (static_cast<uint64_t>(static_cast<uint32_t>(id.pid)) << 40)) *
           0x9E3779B97F4A7C15;
  }
};

/// The running statistics of one task. Means start as plain averages of the first eight events and
/// turn into exponential ones of rate 1/8.
struct TaskHistory {
  uint64_t last_timestamp_ns = 0;
  uint64_t exec_ns = 0, voluntary = 0, involuntary = 0;
  uint64_t last_wake_ns = 0, last_waker = 0;
  uint32_t events = 0, wakes = 0, task_wakes = 0;
  double last_ln_interval = 0.0;
  double wait_ema = 0.0, sleep_ema = 0.0, burst_ema = 0.0;
  double wake_irregularity = 1.0;  ///< unknown counts as irregular
  double timer_share = 0.0, irq_share = 0.0, task_share = 0.0, preempted_share = 0.0;
  double waker_novelty = 0.5, voluntary_share = 0.5;
};

/// Turns events into feature vectors. Not thread-safe.
class FeatureExtractor {
 public:
  explicit FeatureExtractor(FeatureSet set);

  [[nodiscard]] const FeatureSet& set() const { return set_; }

  /// Takes the next event of a task (events of one task in time order; across tasks roughly so)
  /// with the action that stood when it came, and writes `set().size()` values to `features` (none
  /// when it is empty: the histories go on all the same). An
  /// event that does not go on from the task's last one (time or CPU counter ran backwards) starts
  /// a new history.
  void Observe(const RawState& event, double standing_action, std::span<double> features);

  /// Drops what is known of a task: at a gap in the recording.
  void Forget(const TaskId& task) { tasks_.erase(task); }
  /// The task has ended, and its process with it when it was the first thread.
  void Gone(const TaskId& task) {
    Forget(task);
    families_.erase(static_cast<uint64_t>(task.pid));
  }
  /// Timestamp of the last event observed of `task`, or 0.
  [[nodiscard]] uint64_t LastEvent(const TaskId& task) const;

 private:
  struct Family {
    uint64_t updated_ns = 0;
    double load = 0.0;
  };

  double FamilyLoad(const RawState& event, double burst_us);
  void Write(const RawState& event, const TaskHistory& task, double family_load,
             double standing_action, std::span<double> features) const;

  FeatureSet set_;
  std::unordered_map<TaskId, TaskHistory, TaskIdHash> tasks_;
  std::unordered_map<uint64_t, Family> families_;  // by tgid
};

TaskId TaskOf(const RawState& event);

}  // namespace kernelx
