// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Records a simulated run as `record --explore` records a kernel: raw transitions with the draws,
// their law and what was in force. Nothing downstream can tell the form from a real recording; the
// command names begin with "sim-" and say that it is none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernelx/dataset/transition.h"
#include "kernelx/env/runqueue.h"

namespace kernelx {

/// The law of the draws (docs/runqueue.md).
struct ExploreLaw {
  double p_draw = 0.1;       ///< mode task: of a draw at an event
  double p_zero = 0.15;      ///< that a draw is exactly 0; else Uniform(-1, 1)
  double group_share = 0.5;  ///< of windows in mode group
  double window_s = 2.0;
  double delay_us = 400.0;  ///< a draw takes hold up to so much later, uniformly
  /// Acts on nobody: a recording without intervention, all actions 0.
  bool off = false;
};

/// Decides in place of the lottery: the action to set at this event of the task, or none to let the
/// last one stand.
using Pilot =
    std::function<std::optional<double>(uint32_t task, const RawState& event, double standing)>;

/// A value type, as `RunQueue`: a copy goes on alike until one of the two is told otherwise.
class RunQueueRecorder {
 public:
  RunQueueRecorder(std::shared_ptr<const RunQueueLoad> load, uint64_t seed, ExploreLaw law = {});

  /// Runs to the next event of a recorded task. Its transition ends there, if it had an event
  /// before; else null. The result is valid until the next call.
  const RawTransition* Next();
  /// The task of the last event, the event, and how its action came about.
  [[nodiscard]] uint32_t task() const { return current_; }
  [[nodiscard]] const RawState& event() const { return tasks_[current_].event; }
  [[nodiscard]] const Behavior& behavior() const { return tasks_[current_].behavior; }
  /// The action that stands from the last event on, and the one that stood when it came.
  [[nodiscard]] double action() const { return tasks_[current_].action; }
  [[nodiscard]] double standing() const { return tasks_[current_].standing; }

  /// Takes `action` instead of what was drawn (or stood) at the last event; takes hold when the
  /// draw would have.
  void Decide(double action);
  /// All recorded tasks are decided for by `pilot` from the next event on; empty: the lottery.
  void SetPilot(Pilot pilot) { pilot_ = std::move(pilot); }
  /// Other luck from here on: of the load and of the lottery.
  void Reseed(uint64_t seed);

  [[nodiscard]] const RunQueue& machine() const { return machine_; }

 private:
  struct Task {
    bool seen = false;
    RawState event;
    double action = 0.0, standing = 0.0;
    int64_t delay_ns = 0;
    uint32_t window = 0;  // of its last group draw, plus one
    Behavior behavior;
    Applied applied;
    Rng rng;
  };
  void Draw(Task& task);
  void SetAction(double action);
  [[nodiscard]] bool GroupWindow(uint32_t window) const;

  RunQueue machine_;
  ExploreLaw law_;
  uint64_t seed_;
  Pilot pilot_;
  std::vector<Task> tasks_;
  RawTransition transition_;
  uint32_t current_ = 0;
};

/// Records for `seconds` of simulated time, after one second that is not kept.
std::vector<RawTransition> RecordRunQueue(const std::shared_ptr<const RunQueueLoad>& load,
                                          uint64_t seed, double seconds,
                                          const ExploreLaw& law = {});

}  // namespace kernelx
