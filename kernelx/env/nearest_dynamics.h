// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// `nearest`: the recorded decisions nearest in state and action answer for a decision. Only rows
// whose action was drawn at random and in force take part, so that what differs between actions is
// their effect and not who tends to get them.
#pragma once

#include <span>
#include <vector>

#include "kernelx/env/decision_table.h"
#include "kernelx/env/dynamics.h"

namespace kernelx {

/// Distance^2 = sum over features of (weight * difference / sd)^2 + (kActionWeight * difference of
/// actions)^2, sd over the rows that take part, weights from the feature set; in float, summed in
/// that order. The reward terms are the mean over the kNeighbours nearest rows (their own outcomes,
/// never query minus neighbour); the next state is that of one of them, picked by the noise key.
///
/// Exact. The state part is a vector scan of all rows, shared by the clones of a group: adjacent
/// slots of a batch in the same state. (In 16 dimensions a k-d tree visits most leaves anyway; the
/// scan was faster.) Rows lie in order of their action, so that the action part bounds whole blocks
/// of them, and few are looked at again for each clone.
class NearestDynamics : public Dynamics {
 public:
  static constexpr size_t kNeighbours = 64;
  static constexpr float kActionWeight = 5.0F;

  explicit NearestDynamics(const DynamicsInputs& inputs);

  std::string_view name() const override { return "nearest"; }
  bool action_blind() const override { return false; }
  bool follows_recording() const override { return false; }
  void Advance(const AdvanceBatch& batch) const override;
  Simulated Simulate(std::span<const double> state, double action) const override;

  /// Rows that take part, by action, then by row.
  [[nodiscard]] std::span<const uint32_t> rows() const { return rows_; }

 private:
  struct Scratch;

  void Place(std::span<const double> actions);
  /// Fills scratch for a state: what each row, and the nearest of each block, lies away in state.
  void Look(const double* state, Scratch& scratch) const;
  /// Leaves the min(kNeighbours, rows) nearest places in scratch, nearest first; of equally near
  /// ones the first in `rows`.
  void Select(double action, Scratch& scratch) const;

  const Dataset& dataset_;
  std::shared_ptr<const DecisionTable> table_;
  std::vector<uint32_t> rows_;
  std::vector<size_t> columns_;       // features with a weight
  std::vector<double> mean_, scale_;  // of those: (x - mean) * scale is the coordinate
  // By place in `rows_`, padded to whole strips:
  std::vector<float> coordinates_;       // strip by strip, feature-major within
  std::vector<float> action_;            // place
  std::vector<double> terms_;            // place x terms, what the table says of the row
  std::vector<float> lowest_, highest_;  // block: the range of its actions
};

}  // namespace kernelx
