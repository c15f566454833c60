// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// One event of a task as the World Model speaks of it, and what it does to a state: the formulas of
// the feature extractor, from features to features.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"

namespace kernelx {

/// Why a task became runnable.
enum class Wake : uint8_t { kNobody = 0, kTimer = 1, kInterrupt = 2, kTask = 3 };
inline constexpr size_t kWakes = 4;

/// What happens to a task from one switch-in to the next.
struct TaskEvent {
  double wait_us = 0.0;   ///< before it runs again
  double exec_us = 0.0;   ///< CPU time it uses until then
  double sleep_us = 0.0;  ///< 0 where it was preempted
  /// Probability of each `Wake`; one of them 1 in a sampled or recorded event.
  std::array<double, kWakes> wake{1.0, 0.0, 0.0, 0.0};
  double util_change = 0.0;
  double runnable_avg_change = 0.0;  ///< in feature units
  double runnable_change = 0.0;      ///< in feature units

  /// Time to the next event: a task runs, sleeps, waits. In the recordings the sum is within a few
  /// us of the clock.
  [[nodiscard]] double dt_us() const { return exec_us + sleep_us + wait_us; }
};

/// Where the features stand that the model reads and moves.
class EventFeatures {
 public:
  /// Of the history-bearing inputs, without the previous action.
  static constexpr size_t kInputs = 16;

  /// Throws kBadInput naming the feature that `names` lacks.
  explicit EventFeatures(std::span<const std::string> names, const std::string& where);

  /// Columns of the inputs.
  [[nodiscard]] const std::array<size_t, kInputs>& inputs() const { return inputs_; }
  static std::span<const std::string_view> InputNames();
  /// Column of `previous_action`.
  [[nodiscard]] size_t previous_action() const { return previous_action_; }

  /// What a recorded row led to.
  [[nodiscard]] TaskEvent Recorded(const Dataset& data, uint32_t row) const;

  /// The state after `event`, under `action`. Running means move at their rate of 1/8, counters
  /// never fall, vruntime grows by CPU time over weight. What an event does not tell (irregularity
  /// of wakes, novelty of wakers, switches of the CPU, migrations) stays. May not alias.
  void Advance(const double* state, const TaskEvent& event, double action, double* next) const;

 private:
  [[nodiscard]] double At(const double* state, int column) const {
    return column >= 0 ? state[column] : 0.0;
  }

  std::array<size_t, kInputs> inputs_{};
  size_t previous_action_ = 0;
  size_t width_ = 0;
  // The rest of the seed's features; -1 where a set lacks one.
  int exec_ns_, vruntime_, wait_us_, prio_, static_prio_, normal_prio_, family_load_;
};

}  // namespace kernelx
