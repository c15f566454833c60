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

/// Where an episode stands. Small, value type.
struct EpisodeState {
  enum class Status : uint8_t { kNotReset, kRunning, kTerminated, kTruncated };
  uint64_t key = 0;       ///< random key of the episode: its luck
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

  [[nodiscard]] size_t size() const { return status_.size(); }
  [[nodiscard]] const Scenario& scenario() const { return *scenario_; }

  /// Begins a new episode in every slot.
  void Reset();
  /// Begins a new episode in slot i, at row `start` or at a random one. Throws kUsage for a row
  /// where none can start.
  void Reset(size_t i, std::optional<uint64_t> start = std::nullopt);
  /// Begins the episode with this random key at this row: slots given equal keys share their luck,
  /// which is how the clones of a GRPO group are made. `row` must be one of `Scenario::start`.
  void ResetTo(size_t i, uint32_t row, uint64_t key);
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
  [[nodiscard]] EpisodeState episode(size_t i) const;
  /// Task, CPU and time the slot stands on: of its recorded row, else of where it started.
  [[nodiscard]] int32_t pid(size_t i) const;
  [[nodiscard]] int32_t cpu(size_t i) const;

 private:
  void CheckActions(std::span<const double> actions) const;
  [[noreturn]] void RefuseActions(std::span<const double> actions) const;
  void StepRange(const double* actions, size_t begin, size_t end);
  void Decide(const double* actions, size_t begin, size_t end);
  void Settle(const double* actions, size_t begin, size_t end);
  void Mark(size_t begin, size_t end);
  void ResetEnded(size_t begin, size_t end);
  uint32_t Begin(size_t i, std::optional<uint64_t> start);
  void Show(size_t i, uint32_t row, double* features);

  std::shared_ptr<const Scenario> scenario_;
  uint64_t seed_;
  AutoReset auto_reset_;
  unsigned threads_;
  // The fields of `EpisodeState`, an array each.
  std::vector<uint64_t> key_, begun_;
  std::vector<double> previous_action_;
  std::vector<uint32_t> origin_, row_;
  std::vector<int32_t> timestep_;
  std::vector<EpisodeState::Status> status_;
  // A step writes features and rows beside the old ones, then swaps.
  std::vector<double> features_, next_features_;
  std::vector<uint32_t> next_row_;
  std::vector<double> total_, terms_;
  std::vector<uint8_t> terminated_, truncated_;
  // Arrays of the batch handed to the dynamics.
  std::vector<double> clamped_, outcome_terms_;
  std::vector<uint64_t> noise_;
};

}  // namespace kernelx
