// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// N environments over one scenario, stepped together. A single environment is N = 1: there is one
// implementation, so the two cannot differ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernelx/env/scenario.h"

namespace kernelx {

/// What happens to an episode that ended.
enum class AutoReset : uint8_t {
  kOff,       ///< stepping on is an error until it is reset
  kSameStep,  ///< the step that ends it returns the first observation of the next one
};

/// Where an episode stands; copying one copies its luck. Small, value type.
struct EpisodeState {
  enum class Status : uint8_t { kNotReset, kRunning, kTerminated, kTruncated };
  uint64_t key = 0;       ///< random key of the episode
  uint64_t episodes = 0;  ///< how many this slot has begun
  double previous_action = 0.0;
  uint32_t origin = kNoRow;  ///< the row it started at
  uint32_t row = kNoRow;     ///< the recorded row it stands on, if any
  int32_t timestep = 0;
  Status status = Status::kNotReset;
};

class VectorEnv {
 public:
  /// Slot i draws its episodes from seed + i: equal seeds give equal episodes, whatever n or the
  /// number of threads. `threads` is used by `Step` (0: one a core).
  VectorEnv(std::shared_ptr<const Scenario> scenario, size_t n, uint64_t seed,
            AutoReset auto_reset = AutoReset::kOff, unsigned threads = 1);

  [[nodiscard]] size_t size() const { return episodes_.size(); }
  [[nodiscard]] const Scenario& scenario() const { return *scenario_; }

  /// Begins a new episode in every slot.
  void Reset();
  /// Begins a new episode in slot i, at row `start` or at a random one. Throws kUsage for a row
  /// where none can start.
  void Reset(size_t i, std::optional<uint64_t> start = std::nullopt);
  /// Restarts the seeds: slot i draws from seed + i again, from its first episode on.
  void Seed(uint64_t seed);

  /// One decision for every slot; `actions` has size() values. An action out of [-1, 1] loses the
  /// format term and acts as its clamp (with reward seed it is taken as it is). Throws, before
  /// anything changes, kBadInput for an action that is NaN or infinite and kState for a slot that
  /// was not reset or has ended. Does not allocate when threads is 1.
  void Step(std::span<const double> actions);

  /// Makes slot `to` a copy of slot `from`: same state, same luck.
  void Clone(size_t from, size_t to);

  // Results of the last Reset and Step; views into this object, valid until the next call.
  /// size() x feature_count, row-major.
  [[nodiscard]] std::span<const double> features() const { return features_; }
  [[nodiscard]] std::span<const double> features(size_t i) const {
    return std::span(features_).subspan(i * scenario_->feature_count(), scenario_->feature_count());
  }
  [[nodiscard]] std::span<const double> total() const { return total_; }
  /// Term t of every slot (see `Reward::terms`).
  [[nodiscard]] std::span<const double> term(size_t t) const {
    return std::span(terms_).subspan(t * size(), size());
  }
  /// The task's trajectory ended: nothing is known of what came after.
  [[nodiscard]] std::span<const uint8_t> terminated() const { return terminated_; }
  /// max_steps decisions were taken.
  [[nodiscard]] std::span<const uint8_t> truncated() const { return truncated_; }
  [[nodiscard]] const EpisodeState& episode(size_t i) const { return episodes_[i]; }
  /// Task, CPU and time the slot stands on: of its recorded row, else of where it started.
  [[nodiscard]] int32_t pid(size_t i) const;
  [[nodiscard]] int32_t cpu(size_t i) const;

 private:
  void CheckActions(std::span<const double> actions) const;
  void StepRange(std::span<const double> actions, size_t begin, size_t end);
  void Finish(size_t i, double action);

  std::shared_ptr<const Scenario> scenario_;
  uint64_t seed_;
  AutoReset auto_reset_;
  unsigned threads_;
  std::vector<EpisodeState> episodes_;
  std::vector<double> features_, next_features_;
  std::vector<double> total_, terms_;
  std::vector<uint8_t> terminated_, truncated_;
  // Arrays of the batch handed to the dynamics.
  std::vector<double> clamped_, outcome_terms_;
  std::vector<uint32_t> rows_, next_rows_;
  std::vector<uint64_t> noise_;
};

}  // namespace kernelx
