// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Dynamics: what the next state is and what the decision led to. One interface for look-ups in the
// recording and for models; the environment above does not know which it has.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernelx/dataset/dataset.h"
#include "kernelx/env/outcome.h"
#include "kernelx/env/reward.h"

namespace kernelx {

/// One decision for each of n episodes; all arrays have n entries (or n rows of F features).
struct AdvanceBatch {
  size_t n = 0;
  // in
  const double* state = nullptr;    ///< n x F, current features
  const double* action = nullptr;   ///< in [-1, 1]
  const uint32_t* row = nullptr;    ///< the recorded row an episode stands on, or kNoRow
  const uint64_t* noise = nullptr;  ///< random key of the decision; equal keys share their luck
  // out
  double* next_state = nullptr;  ///< n x F; may not alias `state`
  uint32_t* next_row = nullptr;  ///< kNoRow where the episode leaves the recording
  double* terms = nullptr;       ///< n x reward.outcome_terms(): expectation of those terms
};

/// What `simulate` answers.
struct Simulated {
  std::span<const double> next_state;  ///< points into the dataset
  double distance = 0.0;               ///< from the query to what answered it
};

/// Immutable after construction and safe to use from any thread. Steps do not allocate.
class Dynamics {
 public:
  virtual ~Dynamics() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// True when the next state cannot depend on the action.
  [[nodiscard]] virtual bool action_blind() const = 0;
  /// True when an episode ends with the recorded trajectory it started on.
  [[nodiscard]] virtual bool follows_recording() const = 0;
  virtual void Advance(const AdvanceBatch& batch) const = 0;
  /// A hint that an episode of up to `decisions` decisions begins at `row`: time to ask for the
  /// memory it will read.
  virtual void Expect(uint32_t /*row*/) const {}
  /// The next state after one event in any state (`feature_count` values). Throws kUsage where the
  /// dynamics only knows recorded rows.
  [[nodiscard]] virtual Simulated Simulate(std::span<const double> state, double action) const = 0;
};

/// What a dynamics is built from. The references must outlive it.
struct DynamicsInputs {
  const Dataset& dataset;
  const Trajectories& trajectories;
  const Reward& reward;
  int hold = 1;
  unsigned threads = 0;
  /// Replaces the logged actions (one a row) in what is learnt from them; empty: as logged. The
  /// certificate uses it to ask what a recording with shuffled actions would have taught.
  std::span<const double> actions{};
  /// Computed before from the same inputs, to share; null: computed here.
  std::shared_ptr<const class DecisionTable> table = nullptr;
};

/// Makes a dynamics of a kind from above this room, from what follows `KIND:` in its name.
using DynamicsFactory = std::unique_ptr<Dynamics> (*)(std::string_view argument,
                                                      const DynamicsInputs& inputs);

/// Lets `MakeDynamics` answer to `KIND:argument`. Call before any thread makes a dynamics.
void RegisterDynamics(std::string_view kind, DynamicsFactory factory);

/// `replay`, `nearest`, `nearest-state`, or `KIND:argument` of a registered kind. Throws kUsage for
/// another name, kBadInput when the dataset lacks what the dynamics needs.
std::unique_ptr<Dynamics> MakeDynamics(std::string_view name, const DynamicsInputs& inputs);

/// The rows whose action was drawn at random and was in force at the next event, each the task's
/// own draw (mode `task`): what may be learnt from about the action. Where a recording does not
/// say (no `behavior`), all rows.
std::vector<uint32_t> RandomisedRows(const Dataset& dataset);

}  // namespace kernelx
