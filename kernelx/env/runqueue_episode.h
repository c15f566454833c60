// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The dynamics `runqueue`: an episode is a whole simulated machine, seen from one of its tasks. A
// decision stands for K events of that task while its neighbours go on as they were.
//
// It stands beside `Dynamics` and not behind it. A `Dynamics` is immutable, shared, and carries an
// episode as features and a row; what happens next on a machine follows from all its queues, which
// features do not tell. Here the state is the object itself, and a clone is a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernelx/env/outcome.h"
#include "kernelx/env/runqueue_recorder.h"
#include "kernelx/preprocess/extractor.h"

namespace kernelx {

/// Sums the transitions of one decision to the `Outcome` that `OutcomeAt` gives for recorded ones
/// (without the seed's two differences).
class OutcomeSum {
 public:
  void Add(const RawTransition& row);
  [[nodiscard]] int events() const { return sum_.events; }
  [[nodiscard]] Outcome Result() const;

 private:
  Outcome sum_;
};

/// A value type; copies share the luck of what is to come.
class RunQueueEpisode {
 public:
  /// Starts a machine and lets it run for one second. `law` is what the neighbours do.
  RunQueueEpisode(std::shared_ptr<const RunQueueLoad> load, uint64_t seed, const ExploreLaw& law,
                  const FeatureSet& set);

  /// Runs on to the next event at which the lottery draws an action for one task (mode task).
  void ToDraw();
  /// One decision for the task of the last `ToDraw`, in place of what the lottery drew there or
  /// what stands now. Returns what came of it over `hold` events; `features` are then those of the
  /// last of them. Later draws of the lottery for this very task still happen, as they do after a
  /// recorded decision.
  Outcome Decide(double action, int hold);

  /// Of the task, at the event the episode stands on; valid until it moves.
  [[nodiscard]] std::span<const double> features() const { return features_; }
  /// Index of the task in the load.
  [[nodiscard]] uint32_t task() const { return task_; }
  /// What the lottery drew at this event, or what stands.
  [[nodiscard]] double logged_action() const { return logged_; }
  /// The action that stood when the event came: the previous action.
  [[nodiscard]] double standing() const { return standing_; }
  /// Other luck from here on.
  void Reseed(uint64_t seed) { recorder_.Reseed(seed); }
  [[nodiscard]] const RunQueue& machine() const { return recorder_.machine(); }

 private:
  /// The next event of any task, seen by the extractor.
  const RawTransition* Advance();
  void Stand();

  RunQueueRecorder recorder_;
  FeatureExtractor extractor_;
  std::vector<double> features_, seen_;
  uint32_t task_ = 0;
  double logged_ = 0.0, standing_ = 0.0;
};

}  // namespace kernelx
