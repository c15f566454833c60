// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/vector_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernelx/env/row_copy.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"

namespace kernelx {

using Status = EpisodeState::Status;

namespace {

/// Slots stepped together: their part of every array stays in the first-level cache.
constexpr size_t kSlots = 128;

}  // namespace

VectorEnv::VectorEnv(std::shared_ptr<const Scenario> scenario, size_t n, uint64_t seed,
                     AutoReset auto_reset, unsigned threads)
    : scenario_(std::move(scenario)),
      seed_(seed),
      auto_reset_(auto_reset),
      threads_(threads),
      key_(n),
      begun_(n),
      previous_action_(n),
      origin_(n, kNoRow),
      row_(n, kNoRow),
      timestep_(n),
      status_(n, Status::kNotReset),
      features_(n * scenario_->feature_count()),
      next_features_(features_.size()),
      next_row_(n, kNoRow),
      total_(n),
      terms_(n * scenario_->reward().terms().size()),
      terminated_(n),
      truncated_(n),
      clamped_(n),
      outcome_terms_(n * scenario_->reward().outcome_terms()),
      noise_(n) {}

EpisodeState VectorEnv::episode(size_t i) const {
  return {.key = key_[i],
          .episodes = begun_[i],
          .previous_action = previous_action_[i],
          .origin = origin_[i],
          .row = row_[i],
          .timestep = timestep_[i],
          .status = status_[i]};
}

void VectorEnv::Reset() {
  for (size_t i = 0; i < size(); ++i) Reset(i);
}

void VectorEnv::Reset(size_t i, std::optional<uint64_t> start) {
  if (start) scenario_->CheckStart(*start);
  row_[i] = Begin(i, start);
  Show(i, row_[i], features_.data());
  terminated_[i] = truncated_[i] = 0;
}

void VectorEnv::ResetTo(size_t i, uint32_t row, uint64_t key) {
  row_[i] = Begin(i, row);
  key_[i] = key;
  Show(i, row, features_.data());
  terminated_[i] = truncated_[i] = 0;
}

void VectorEnv::Seed(uint64_t seed) {
  seed_ = seed;
  std::ranges::fill(begun_, 0);
  std::ranges::fill(origin_, kNoRow);
  std::ranges::fill(row_, kNoRow);
  std::ranges::fill(timestep_, 0);
  std::ranges::fill(previous_action_, 0.0);
  std::ranges::fill(status_, Status::kNotReset);
}

/// Begins an episode in slot i and returns the row it starts at.
uint32_t VectorEnv::Begin(size_t i, std::optional<uint64_t> start) {
  key_[i] = MixSeed(seed_ + i, begun_[i]);
  ++begun_[i];
  timestep_[i] = 0;
  status_[i] = Status::kRunning;
  origin_[i] = start ? static_cast<uint32_t>(*start)
                     : scenario_->start(Rng(key_[i]).Below(scenario_->start_count()));
  return origin_[i];
}

/// Writes the state of a recorded row as the observation of slot i into `features`.
void VectorEnv::Show(size_t i, uint32_t row, double* features) {
  const auto state = scenario_->dataset().state(row);
  CopyRow(state.data(), features + i * state.size(), state.size());
  // The seed's episodes begin with 0; others with the action that stood when the event came.
  const int column =
      scenario_->options().order == Order::kTask ? scenario_->previous_action_column() : -1;
  previous_action_[i] = column >= 0 ? state[static_cast<size_t>(column)] : 0.0;
}

void VectorEnv::Clone(size_t from, size_t to) {
  const size_t width = scenario_->feature_count();
  key_[to] = key_[from];
  begun_[to] = begun_[from];
  previous_action_[to] = previous_action_[from];
  origin_[to] = origin_[from];
  row_[to] = row_[from];
  timestep_[to] = timestep_[from];
  status_[to] = status_[from];
  terminated_[to] = terminated_[from];
  truncated_[to] = truncated_[from];
  std::copy_n(features_.data() + from * width, width, features_.data() + to * width);
}

void VectorEnv::CheckActions(std::span<const double> actions) const {
  if (actions.size() != size()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("step: {} actions for {} environments; give one each", actions.size(), size()));
  }
  // Two passes without a branch; what is wrong, and where, is for the slow path.
  uint64_t bad = 0;
  for (const double action : actions) bad |= static_cast<uint64_t>(!std::isfinite(action));
  uint8_t stopped = 0;
  for (const Status status : status_) stopped |= static_cast<uint8_t>(status != Status::kRunning);
  if ((bad | stopped) != 0) RefuseActions(actions);
}

void VectorEnv::RefuseActions(std::span<const double> actions) const {
  size_t i = 0;
  while (std::isfinite(actions[i]) && status_[i] == Status::kRunning) ++i;
  if (!std::isfinite(actions[i])) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("step: action {} of environment {} is not a number in [-1, 1]; "
                            "nothing was changed",
                            actions[i], i));
  }
  throw Error(
      ErrorCode::kState,
      fmt::format("step: environment {} {}; call reset first", i,
                  status_[i] == Status::kNotReset ? "was never reset" : "has ended its episode"));
}

void VectorEnv::Step(std::span<const double> actions) {
  CheckActions(actions);
  if (threads_ == 1) {
    StepRange(actions.data(), 0, size());
  } else {
    ParallelFor(size(), threads_,
                [&](size_t begin, size_t end) { StepRange(actions.data(), begin, end); });
  }
  std::swap(features_, next_features_);
  std::swap(row_, next_row_);
}

void VectorEnv::StepRange(const double* actions, size_t begin, size_t end) {
  for (; begin < end; begin += kSlots) {
    const size_t part = std::min(begin + kSlots, end);
    Decide(actions, begin, part);
    Settle(actions, begin, part);
    if (auto_reset_ == AutoReset::kSameStep) ResetEnded(begin, part);
  }
}

/// Asks the dynamics.
void VectorEnv::Decide(const double* actions, size_t begin, size_t end) {
  const size_t width = scenario_->feature_count();
  for (size_t i = begin; i < end; ++i) {
    clamped_[i] = std::clamp(actions[i], -1.0, 1.0);
    noise_[i] = MixSeed(key_[i], static_cast<uint64_t>(timestep_[i]));
  }
  scenario_->dynamics().Advance(
      {.n = end - begin,
       .state = features_.data() + begin * width,
       .action = clamped_.data() + begin,
       .row = row_.data() + begin,
       .noise = noise_.data() + begin,
       .next_state = next_features_.data() + begin * width,
       .next_row = next_row_.data() + begin,
       .terms = outcome_terms_.data() + begin * scenario_->reward().outcome_terms()});
}

/// Reward, flags and the new place of each slot, once the dynamics has answered.
void VectorEnv::Settle(const double* actions, size_t begin, size_t end) {
  const Reward& reward = scenario_->reward();
  const size_t n = size();
  const size_t outcome_terms = reward.outcome_terms();
  const size_t term_count = reward.terms().size();
  for (size_t t = 0; t < outcome_terms; ++t) {
    double* term = terms_.data() + t * n;
    for (size_t i = begin; i < end; ++i) term[i] = outcome_terms_[i * outcome_terms + t];
  }
  reward.FromActions(end - begin, actions + begin, previous_action_.data() + begin,
                     terms_.data() + outcome_terms * n + begin, n);
  std::fill(total_.data() + begin, total_.data() + end, 0.0);
  for (size_t t = 0; t < term_count; ++t) {
    const double* term = terms_.data() + t * n;
    for (size_t i = begin; i < end; ++i) total_[i] += term[i];
  }

  const double* acted = reward.clamps() ? clamped_.data() : actions;
  std::copy(acted + begin, acted + end, previous_action_.data() + begin);
  if (const int column = scenario_->previous_action_column(); column >= 0) {
    double* feature = next_features_.data() + column;
    for (size_t i = begin; i < end; ++i) feature[i * scenario_->feature_count()] = acted[i];
  }
  Mark(begin, end);
}

/// Flags and statuses after a decision. Plain pointers, so that the loop is one of vectors.
void VectorEnv::Mark(size_t begin, size_t end) {
  const uint8_t follows = scenario_->dynamics().follows_recording() ? 1 : 0;
  const int32_t max_steps = scenario_->max_steps();
  const uint32_t* row = next_row_.data();
  int32_t* timestep = timestep_.data();
  uint8_t* terminated = terminated_.data();
  uint8_t* truncated = truncated_.data();
  Status* status = status_.data();
  for (size_t i = begin; i < end; ++i) {
    timestep[i] += 1;
    terminated[i] = static_cast<uint8_t>(row[i] == kNoRow) & follows;
    truncated[i] = static_cast<uint8_t>(timestep[i] >= max_steps);
  }
  for (size_t i = begin; i < end; ++i) {
    const Status running = truncated[i] != 0 ? Status::kTruncated : Status::kRunning;
    status[i] = terminated[i] != 0 ? Status::kTerminated : running;
  }
}

/// Begins the next episode of the slots that ended: rows first, so that their states can be on the
/// way while others are drawn.
void VectorEnv::ResetEnded(size_t begin, size_t end) {
  size_t ended[kSlots];
  size_t count = 0;
  for (size_t i = begin; i < end; ++i) {
    if (status_[i] != Status::kRunning) ended[count++] = i;
  }
  for (size_t k = 0; k < count; ++k) {
    next_row_[ended[k]] = Begin(ended[k], std::nullopt);
    PrefetchRow(scenario_->dataset().state(next_row_[ended[k]]).data(), scenario_->feature_count());
    scenario_->dynamics().Expect(next_row_[ended[k]]);
  }
  for (size_t k = 0; k < count; ++k) Show(ended[k], next_row_[ended[k]], next_features_.data());
}

int32_t VectorEnv::pid(size_t i) const {
  return scenario_->dataset().pid()[row_[i] != kNoRow ? row_[i] : origin_[i]];
}

int32_t VectorEnv::cpu(size_t i) const {
  return scenario_->dataset().cpu()[row_[i] != kNoRow ? row_[i] : origin_[i]];
}

}  // namespace kernelx
