// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What follows a decision in the recording: the trajectories of the tasks, and what happened to a
// task over the K events that a decision stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernelx/dataset/dataset.h"

namespace kernelx {

inline constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

/// Which row follows which.
enum class Order : uint8_t {
  kRecorded,  ///< file order, whatever task comes next (the seed)
  kTask,      ///< the next transition of the same task
};

/// Consecutive rows under an order. For `kTask` a row follows another when it is the next of the
/// same pid and start time and its timestamp is the other's next timestamp; where that is not
/// recorded, when its state is the other's next state. Anything else ends the trajectory, and so
/// does a row over which time or the CPU counter runs backwards: it joins two tasks of one pid.
class Trajectories {
 public:
  /// Throws kBadInput when outcomes under this order cannot be told from the dataset: order task
  /// needs deltas, order recorded the seed's ten features.
  Trajectories(const Dataset& dataset, Order order);

  /// The row after `row`, or kNoRow at the end of a trajectory.
  [[nodiscard]] uint32_t next(uint32_t row) const { return next_[row]; }
  [[nodiscard]] Order order() const { return order_; }
  /// How many steps can start at `row`: rows from it to the end of its trajectory.
  [[nodiscard]] uint32_t remaining(uint32_t row) const { return remaining_[row]; }
  [[nodiscard]] size_t size() const { return next_.size(); }

 private:
  Order order_;
  std::vector<uint32_t> next_;
  std::vector<uint32_t> remaining_;
};

/// What happened to the task over the events of one decision.
struct Outcome {
  int events = 0;             ///< 0: the recording has no event after the row
  double exec_us = 0.0;       ///< CPU time used, sum
  double dt_us = 0.0;         ///< time passed, sum
  double log_wait = 0.0;      ///< mean of ln(1 + wait us) over the events
  double log_slowdown = 0.0;  ///< mean of ln((wait + burst + 100) / (burst + 100)), us
  /// The seed's two differences between the compared states, in feature units: symlog(exec ns), and
  /// wait us.
  double seed_exec_gain = 0.0;
  double seed_wait_gain = 0.0;
};

/// The outcome of a decision at `row` that stands for `hold` events. Under `kTask` from exact
/// integer deltas of the rows row, next(row), ...; fewer events when the trajectory ends. Under
/// `kRecorded` only the two seed differences are meaningful, between `row` and `hold` rows on (0
/// with fewer than ten features). Time or CPU use that runs backwards counts as none.
Outcome OutcomeAt(const Dataset& dataset, const Trajectories& trajectories, uint32_t row, int hold);

}  // namespace kernelx
