// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/lookup_dynamics.h"

#include <algorithm>

#include "kernelx/ground/error.h"

namespace kernelx {

ReplayDynamics::ReplayDynamics(const DynamicsInputs& inputs)
    : dataset_(inputs.dataset),
      order_(inputs.trajectories.order()),
      table_(DecisionTable::Of(inputs)) {}

void ReplayDynamics::Advance(const AdvanceBatch& batch) const {
  const size_t features = dataset_.feature_count();
  const size_t terms = table_->terms_per_row();
  for (size_t i = 0; i < batch.n; ++i) {
    const uint32_t row = batch.row[i];
    const uint32_t next = table_->next(row);
    // The seed compares states of rows; a task's transition ends in its own next state.
    const auto state = order_ == Order::kRecorded && next != kNoRow
                           ? dataset_.state(next)
                           : dataset_.next_state(table_->last(row));
    std::copy_n(state.data(), features, batch.next_state + i * features);
    std::copy_n(table_->terms(row), terms, batch.terms + i * terms);
    batch.next_row[i] = next;
  }
}

Simulated ReplayDynamics::Simulate(std::span<const double>, double) const {
  throw Error(ErrorCode::kUsage,
              "dynamics replay only knows recorded rows; simulate with nearest or nearest-state");
}

NearestStateDynamics::NearestStateDynamics(const DynamicsInputs& inputs)
    : dataset_(inputs.dataset),
      table_(DecisionTable::Of(inputs)),
      index_(inputs.dataset.states(), inputs.dataset.feature_count()) {}

void NearestStateDynamics::Advance(const AdvanceBatch& batch) const {
  const size_t features = dataset_.feature_count();
  const size_t terms = table_->terms_per_row();
  for (size_t i = 0; i < batch.n; ++i) {
    const auto nearest = index_.Nearest({batch.state + i * features, features});
    const auto state = dataset_.next_state(table_->last(nearest.point));
    std::copy_n(state.data(), features, batch.next_state + i * features);
    std::copy_n(table_->terms(nearest.point), terms, batch.terms + i * terms);
    batch.next_row[i] = kNoRow;
  }
}

Simulated NearestStateDynamics::Simulate(std::span<const double> state, double) const {
  const auto nearest = index_.Nearest(state);
  return {dataset_.next_state(nearest.point), nearest.distance};
}

}  // namespace kernelx
