// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/vector_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernelx/ground/error.h"
#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"

namespace kernelx {

using Status = EpisodeState::Status;

VectorEnv::VectorEnv(std::shared_ptr<const Scenario> scenario, size_t n, uint64_t seed,
                     AutoReset auto_reset, unsigned threads)
    : scenario_(std::move(scenario)),
      seed_(seed),
      auto_reset_(auto_reset),
      threads_(threads),
      episodes_(n),
      features_(n * scenario_->feature_count()),
      next_features_(features_.size()),
      total_(n),
      terms_(n * scenario_->reward().terms().size()),
      terminated_(n),
      truncated_(n),
      clamped_(n),
      outcome_terms_(n * scenario_->reward().outcome_terms()),
      rows_(n),
      next_rows_(n),
      noise_(n) {}

void VectorEnv::Reset() {
  for (size_t i = 0; i < size(); ++i) Reset(i);
}

void VectorEnv::Seed(uint64_t seed) {
  seed_ = seed;
  for (EpisodeState& episode : episodes_) episode = {};
}

void VectorEnv::Reset(size_t i, std::optional<uint64_t> start) {
  if (start) scenario_->CheckStart(*start);
  EpisodeState& episode = episodes_[i];
  const uint64_t key = MixSeed(seed_ + i, episode.episodes);
  const uint32_t row = start ? static_cast<uint32_t>(*start)
                             : scenario_->start(Rng(key).Below(scenario_->start_count()));
  const auto state = scenario_->dataset().state(row);
  std::ranges::copy(state, features_.begin() + static_cast<ptrdiff_t>(i * state.size()));
  const int column = scenario_->previous_action_column();
  episode = {.key = key,
             .episodes = episode.episodes + 1,
             .previous_action = column >= 0 ? state[static_cast<size_t>(column)] : 0.0,
             .origin = row,
             .row = row,
             .timestep = 0,
             .status = Status::kRunning};
}

void VectorEnv::Clone(size_t from, size_t to) {
  const size_t width = scenario_->feature_count();
  episodes_[to] = episodes_[from];
  std::copy_n(features_.data() + from * width, width, features_.data() + to * width);
}

void VectorEnv::CheckActions(std::span<const double> actions) const {
  if (actions.size() != size()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("step: {} actions for {} environments; give one each", actions.size(), size()));
  }
  for (size_t i = 0; i < size(); ++i) {
    if (!std::isfinite(actions[i])) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("step: action {} of environment {} is not a number in [-1, 1]; "
                              "nothing was changed",
                              actions[i], i));
    }
    if (episodes_[i].status == Status::kRunning) continue;
    throw Error(ErrorCode::kState,
                fmt::format("step: environment {} {}; call reset first", i,
                            episodes_[i].status == Status::kNotReset ? "was never reset"
                                                                     : "has ended its episode"));
  }
}

void VectorEnv::Step(std::span<const double> actions) {
  CheckActions(actions);
  if (threads_ == 1) {
    StepRange(actions, 0, size());
  } else {
    ParallelFor(size(), threads_,
                [&](size_t begin, size_t end) { StepRange(actions, begin, end); });
  }
  std::swap(features_, next_features_);
  if (auto_reset_ == AutoReset::kOff) return;
  for (size_t i = 0; i < size(); ++i) {
    if (episodes_[i].status != Status::kRunning) Reset(i);
  }
}

void VectorEnv::StepRange(std::span<const double> actions, size_t begin, size_t end) {
  const size_t width = scenario_->feature_count();
  const size_t outcome_terms = scenario_->reward().outcome_terms();
  for (size_t i = begin; i < end; ++i) {
    clamped_[i] = std::clamp(actions[i], -1.0, 1.0);
    rows_[i] = episodes_[i].row;
    noise_[i] = MixSeed(episodes_[i].key, static_cast<uint64_t>(episodes_[i].timestep));
  }
  scenario_->dynamics().Advance({.n = end - begin,
                                 .state = features_.data() + begin * width,
                                 .action = clamped_.data() + begin,
                                 .row = rows_.data() + begin,
                                 .noise = noise_.data() + begin,
                                 .next_state = next_features_.data() + begin * width,
                                 .next_row = next_rows_.data() + begin,
                                 .terms = outcome_terms_.data() + begin * outcome_terms});
  for (size_t i = begin; i < end; ++i) Finish(i, actions[i]);
}

/// Reward, flags and the new place of slot i, once the dynamics has answered.
void VectorEnv::Finish(size_t i, double action) {
  const Reward& reward = scenario_->reward();
  const size_t outcome_terms = reward.outcome_terms();
  const size_t term_count = reward.terms().size();
  EpisodeState& episode = episodes_[i];
  double of_action[Reward::kMaxTerms];
  reward.FromAction(action, episode.previous_action, of_action);
  double total = 0.0;
  for (size_t t = 0; t < term_count; ++t) {
    const double term =
        t < outcome_terms ? outcome_terms_[i * outcome_terms + t] : of_action[t - outcome_terms];
    terms_[t * size() + i] = term;
    total += term;
  }
  total_[i] = total;

  episode.previous_action = reward.clamps() ? clamped_[i] : action;
  const int column = scenario_->previous_action_column();
  if (column >= 0) {
    next_features_[i * scenario_->feature_count() + static_cast<size_t>(column)] =
        episode.previous_action;
  }
  episode.row = next_rows_[i];
  ++episode.timestep;
  const bool ended = episode.row == kNoRow && scenario_->dynamics().follows_recording();
  const bool full = episode.timestep >= scenario_->max_steps();
  terminated_[i] = static_cast<uint8_t>(ended);
  truncated_[i] = static_cast<uint8_t>(full);
  if (ended) {
    episode.status = Status::kTerminated;
  } else if (full) {
    episode.status = Status::kTruncated;
  }
}

int32_t VectorEnv::pid(size_t i) const {
  const EpisodeState& episode = episodes_[i];
  return scenario_->dataset().pid()[episode.row != kNoRow ? episode.row : episode.origin];
}

int32_t VectorEnv::cpu(size_t i) const {
  const EpisodeState& episode = episodes_[i];
  return scenario_->dataset().cpu()[episode.row != kNoRow ? episode.row : episode.origin];
}

}  // namespace kernelx
