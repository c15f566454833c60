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
/// actions)^2, sd over the rows that take part, weights from the feature set. The reward terms are
/// the mean over the kNeighbours nearest rows (their own outcomes, never query minus neighbour);
/// the next state is that of one of them, picked by the noise key. Exact: every row is compared, by
/// vector scans that share the state part among the clones of a group. (In 16 dimensions a k-d tree
/// visits most leaves anyway; the scan was faster.)
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

  /// Rows that take part.
  [[nodiscard]] std::span<const uint32_t> rows() const { return rows_; }

 private:
  struct Scratch;

  void StateDistances(const double* state, Scratch& scratch) const;
  /// Leaves the min(kNeighbours, rows) nearest entries of `rows_` in scratch, nearest first.
  void Select(double action, Scratch& scratch) const;

  const Dataset& dataset_;
  std::shared_ptr<const DecisionTable> table_;
  std::vector<uint32_t> rows_;
  std::vector<size_t> columns_;       // features with a weight
  std::vector<double> mean_, scale_;  // of those: (x - mean) * scale is the coordinate
  size_t stride_ = 0;                 // rows padded to whole vectors
  std::vector<float> coordinates_;    // columns x stride, feature-major
  std::vector<float> action_;         // stride
};

}  // namespace kernelx
