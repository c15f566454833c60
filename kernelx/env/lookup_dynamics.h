// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The two action-blind dynamics: replay of the recording, and the seed's nearest-state look-up.
#pragma once

#include "kernelx/env/decision_table.h"
#include "kernelx/env/dynamics.h"
#include "kernelx/env/knn_index.h"

namespace kernelx {

/// The recorded next state, whatever the action.
class ReplayDynamics : public Dynamics {
 public:
  explicit ReplayDynamics(const DynamicsInputs& inputs);

  std::string_view name() const override { return "replay"; }
  bool action_blind() const override { return true; }
  bool follows_recording() const override { return true; }
  void Advance(const AdvanceBatch& batch) const override;
  void Expect(uint32_t row) const override;
  Simulated Simulate(std::span<const double> state, double action) const override;

 private:
  const Dataset& dataset_;
  const Order order_;
  std::shared_ptr<const DecisionTable> table_;
};

/// The next state of the recorded row whose state is nearest (Euclidean, features as they are): the
/// seed's `simulate`, exact where that took the best of 500 random rows. A feature
/// `previous_action` does not count, lest the agent's own last action choose the neighbour.
class NearestStateDynamics : public Dynamics {
 public:
  explicit NearestStateDynamics(const DynamicsInputs& inputs);

  std::string_view name() const override { return "nearest-state"; }
  bool action_blind() const override { return true; }
  bool follows_recording() const override { return false; }
  void Advance(const AdvanceBatch& batch) const override;
  Simulated Simulate(std::span<const double> state, double action) const override;

 private:
  [[nodiscard]] KnnIndex::Neighbour Nearest(const double* state) const;

  const Dataset& dataset_;
  std::shared_ptr<const DecisionTable> table_;
  int ignored_;  // column of previous_action, or -1
  KnnIndex index_;
};

}  // namespace kernelx
