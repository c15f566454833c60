// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/lookup_dynamics.h"

#include <algorithm>
#include <vector>

#include "kernelx/env/row_copy.h"
#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

/// An index of all states, with one column (if any) set to 0.
KnnIndex IndexWithout(const Dataset& data, int column) {
  if (column < 0) return {data.states(), data.feature_count()};
  std::vector<double> states(data.states().begin(), data.states().end());
  for (auto at = static_cast<size_t>(column); at < states.size(); at += data.feature_count()) {
    states[at] = 0.0;
  }
  return {states, data.feature_count()};
}

}  // namespace

ReplayDynamics::ReplayDynamics(const DynamicsInputs& inputs)
    : dataset_(inputs.dataset),
      order_(inputs.trajectories.order()),
      table_(DecisionTable::Of(inputs)) {}

void ReplayDynamics::Advance(const AdvanceBatch& batch) const {
  const size_t features = dataset_.feature_count();
  const size_t terms = table_->terms_per_row();
  const double* const states = dataset_.states().data();
  const double* const next_states = dataset_.next_states().data();
  const DecisionTable& table = *table_;
  const bool recorded = order_ == Order::kRecorded;
  // The seed compares states of rows; a task's transition ends in its own next state.
  const auto after = [&](uint32_t row) {
    const uint32_t next = table.next(row);
    return recorded && next != kNoRow ? states + next * features
                                      : next_states + table.last(row) * features;
  };
  // Rows lie anywhere in memory: ask for all states first, and for the next step's table entries
  // now, so that nothing below waits.
  for (size_t i = 0; i < batch.n; ++i) PrefetchRow(after(batch.row[i]), features);
  for (size_t i = 0; i < batch.n; ++i) {
    const uint32_t row = batch.row[i];
    const uint32_t next = table.next(row);
    CopyRow(after(row), batch.next_state + i * features, features);
    CopyRow(table.terms(row), batch.terms + i * terms, terms);
    batch.next_row[i] = next;
    if (next != kNoRow) table.Prefetch(next);
  }
}

void ReplayDynamics::Expect(uint32_t row) const { table_->Prefetch(row); }

Simulated ReplayDynamics::Simulate(std::span<const double>, double) const {
  throw Error(ErrorCode::kUsage,
              "dynamics replay only knows recorded rows; simulate with nearest or nearest-state");
}

NearestStateDynamics::NearestStateDynamics(const DynamicsInputs& inputs)
    : dataset_(inputs.dataset),
      table_(DecisionTable::Of(inputs)),
      ignored_(FindColumn(inputs.dataset.feature_names(), "previous_action")),
      index_(IndexWithout(inputs.dataset, ignored_)) {}

KnnIndex::Neighbour NearestStateDynamics::Nearest(const double* state) const {
  const size_t features = dataset_.feature_count();
  if (ignored_ < 0) return index_.Nearest({state, features});
  double query[KnnIndex::kMaxDimensions];
  std::copy_n(state, features, query);
  query[ignored_] = 0.0;
  return index_.Nearest({query, features});
}

void NearestStateDynamics::Advance(const AdvanceBatch& batch) const {
  const size_t features = dataset_.feature_count();
  const size_t terms = table_->terms_per_row();
  for (size_t i = 0; i < batch.n; ++i) {
    const auto nearest = Nearest(batch.state + i * features);
    const auto state = dataset_.next_state(table_->last(nearest.point));
    std::copy_n(state.data(), features, batch.next_state + i * features);
    std::copy_n(table_->terms(nearest.point), terms, batch.terms + i * terms);
    batch.next_row[i] = kNoRow;
  }
}

Simulated NearestStateDynamics::Simulate(std::span<const double> state, double) const {
  const auto nearest = Nearest(state.data());
  return {dataset_.next_state(nearest.point), nearest.distance};
}

}  // namespace kernelx
