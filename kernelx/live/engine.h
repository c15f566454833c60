// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The loop on the running kernel: events in, features by the code that made the dataset, a
// decision, the governor's ruling, a nudge, and everything put back at the end.
//
//   Sensor -> FeatureExtractor -> Decider -> Governor -> Journal + actuator -> EngineSink
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernelx/act/journal.h"
#include "kernelx/act/supervisor.h"
#include "kernelx/ground/histogram.h"
#include "kernelx/live/decider.h"
#include "kernelx/live/governor.h"
#include "kernelx/preprocess/extractor.h"
#include "kernelx/record/kxr.h"
#include "kernelx/record/sensor.h"

namespace kernelx {

struct EngineOptions {
  TargetSpec target = {};
  GovernorOptions governor = {};
  bool dry_run = false;         ///< senses and decides; changes nothing
  uint64_t drain_ns = 300'000;  ///< between two looks at the ring
  uint64_t least_gap_ns = 0;    ///< between two events of a task that are looked at
};

/// Hears all that happens, in order: e.g. writes it down.
class EngineSink {
 public:
  virtual ~EngineSink() = default;
  virtual void OnEvent(const SchedEvent& /*event*/) {}
  virtual void OnLost(uint64_t /*count*/) {}
  /// A nudge was tried (in a dry run: would have been). `before` is the action that stood;
  /// `features` are empty where the decision did not read them.
  virtual void OnNudge(const NudgeRecord& /*nudge*/, const SchedEvent& /*event*/, double /*before*/,
                       std::span<const double> /*features*/) {}
  /// A task was left alone from now on: someone else changed it.
  virtual void OnYield(const SchedEvent& /*event*/) {}
};

struct EngineStats {
  uint64_t events = 0;
  uint64_t dropped = 0;
  uint64_t decisions = 0;
  uint64_t nudges = 0;   ///< tried
  uint64_t refused = 0;  ///< by the kernel: no right, or another class by now
  uint64_t mismatched = 0;
  uint64_t gone = 0;
  uint64_t small = 0, rested = 0, spared = 0;  ///< decisions the governor did not act on
  uint64_t checked = 0;                        ///< nudges whose task was seen again
  uint64_t in_force = 0;                       ///< of these, in the task at that event
  uint64_t yielded = 0;
  uint64_t expired = 0;
  uint64_t heirs = 0;    ///< new tasks that had inherited a nudge, put back at first sight
  Histogram latency_us;  ///< from the event to after the system call
  double seconds = 0.0;
  double own_cpu_s = 0.0;
  size_t tasks = 0;    ///< seen in the last ten seconds
  size_t touched = 0;  ///< that have something of ours now
};

/// A task as the view shows it.
struct TaskView {
  int32_t pid = 0;
  std::string comm;
  double action = 0.0;
  int32_t nice = 0;
  uint64_t slice_ns = 0;
  uint64_t events = 0;
  double cpu_share = 0.0;  ///< since the last view
  double wait_p50_us = 0.0, wait_p99_us = 0.0;
  int32_t session = 0;
};

class Engine {
 public:
  /// Attaches the sensor and, unless it is a dry run, creates the journal and the supervisor.
  /// Throws kMissingCapability, and kState when another engine runs or one was killed.
  Engine(const EngineOptions& options, std::unique_ptr<Decider> decider, EngineSink* sink);
  /// Puts everything back.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Adds a process tree to the targets (needs a `tree_roots` in the options).
  void AddTree(int32_t root_tgid);
  /// One look at the ring and all that follows from it. Throws kState when the supervisor has died:
  /// everything is put back by then.
  void Step();
  /// Steps every `drain_ns` until `stop` says so; `every_second` is called about once a second.
  void Run(const std::function<bool()>& stop, const std::function<void()>& every_second);
  /// Puts back every task and reports; further steps act again.
  RestoreReport RestoreAll();

  [[nodiscard]] EngineStats stats() const;
  /// The tasks with most waiting since the last call, at most `most`.
  [[nodiscard]] std::vector<TaskView> Tasks(size_t most);
  [[nodiscard]] const Decider& decider() const { return *decider_; }
  [[nodiscard]] std::string rung() const { return sensor_->rung(); }
  [[nodiscard]] const EngineOptions& options() const { return options_; }
  /// Sessions of the targets seen. More than one under autogroup: nice acts only within each.
  [[nodiscard]] size_t sessions() const { return sessions_.size(); }

 private:
  class Intake;
  struct Task;

  void Observe(const SchedEvent& event);
  void CheckStanding(Task& task, const SchedEvent& event);
  void Yield(Task& task, const SchedEvent& event);
  void Act(Task& task, const SchedEvent& event, const Decision& decision,
           std::span<const double> values);
  bool Adopt(Task& task, const SchedEvent& event);
  void MeetHeir(Task& task, const SchedEvent& event);
  void Release(Task& task);
  void Sweep(uint64_t now_ns);

  EngineOptions options_;
  std::unique_ptr<Decider> decider_;
  EngineSink* sink_;
  int lock_fd_ = -1;
  std::string journal_path_;
  std::optional<Journal> journal_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<Sensor> sensor_;
  FeatureExtractor extractor_;
  Governor governor_;
  std::vector<double> values_;
  std::unordered_map<TaskId, Task, TaskIdHash> tasks_;
  std::unordered_map<int32_t, uint64_t> sessions_;
  EngineStats stats_;
  uint64_t default_slice_ns_ = 0;
  uint64_t begin_ns_ = 0;
  uint64_t swept_ns_ = 0;
  uint64_t viewed_ns_ = 0;
  uint64_t last_event_ns_ = 0;
};

}  // namespace kernelx
