// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/world/world_dynamics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"
#include "kernelx/world/fit.h"

namespace kernelx {
namespace {

constexpr size_t kSlots = 8;  // side by side: their rollouts fit the second-level cache
constexpr size_t kCalibrationStates = 512;
constexpr size_t kSeedFeatures = 10;
constexpr size_t kExecColumn = 4;  // of the seed's features, which open every set
constexpr size_t kWaitColumn = 9;
constexpr double kSlowdownSlackUs = 100.0;

double ParseNumber(std::string_view text, std::string_view option) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0.0)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("dynamics world: {}={} is no number of 0 or more", option, text));
  }
  return value;
}

/// Adds an event to what happened so far; the means are sums until the end.
void AddEvent(const TaskEvent& event, Outcome& outcome) {
  outcome.exec_us += event.exec_us;
  outcome.dt_us += event.dt_us();
  outcome.log_wait += std::log1p(event.wait_us);
  const double busy = event.exec_us + kSlowdownSlackUs;
  outcome.log_slowdown += std::log((event.wait_us + busy) / busy);
  ++outcome.events;
}

}  // namespace

WorldDynamicsOptions WorldDynamicsOptions::Parse(std::string_view argument) {
  WorldDynamicsOptions options;
  size_t comma = argument.find(',');
  options.file = argument.substr(0, comma);
  while (comma != std::string_view::npos) {
    argument.remove_prefix(comma + 1);
    comma = argument.find(',');
    const std::string_view part = argument.substr(0, comma);
    if (part == "mean") {
      options.mean = true;
    } else if (part == "stop") {
      options.stop = true;
    } else if (part.starts_with("draws=")) {
      options.draws = static_cast<size_t>(ParseNumber(part.substr(6), "draws"));
    } else if (part.starts_with("penalty=")) {
      options.penalty = ParseNumber(part.substr(8), "penalty");
    } else {
      throw Error(
          ErrorCode::kUsage,
          fmt::format("dynamics world: \"{}\" is unknown; use mean, draws=N, penalty=X, stop",
                      part));
    }
  }
  if (options.file.empty() || options.draws < 1 || options.draws > 1000) {
    throw Error(ErrorCode::kUsage,
                "dynamics world: give world:FILE[,mean][,draws=N][,penalty=X][,stop], 1 to 1000 "
                "draws");
  }
  return options;
}

/// Rollout r of slot s is at s * rollouts + r, its member r / draws.
struct WorldDynamics::Scratch {
  explicit Scratch(const WorldDynamics& of)
      : block(of.model_.members.front()),
        rollouts(of.model_.members.size() * of.draws_),
        luck_size((of.shared_luck_ ? of.draws_ : rollouts) * static_cast<size_t>(of.hold_) *
                  kEventUniforms),
        width(of.dataset_.feature_count()),
        inputs(EventFeatures::kInputs),
        state(kSlots * rollouts * width),
        next(state.size()),
        outcome(kSlots * rollouts),
        luck(kSlots * luck_size),
        luck_key(kSlots),
        member_terms(of.model_.members.size() * Reward::kMaxTerms) {}

  WorldBlock block;
  size_t rollouts;
  size_t luck_size;
  size_t width;
  std::vector<float> inputs;
  std::vector<double> state, next;
  std::vector<Outcome> outcome;
  std::vector<double> luck;
  std::vector<uint64_t> luck_key;
  std::vector<double> member_terms;
};

WorldDynamics::WorldDynamics(WorldModel model, const WorldDynamicsOptions& options,
                             const DynamicsInputs& inputs)
    : dataset_(inputs.dataset),
      reward_(inputs.reward),
      hold_(inputs.hold),
      options_(options),
      model_(std::move(model)),
      features_(inputs.dataset.feature_names(), inputs.dataset.source()),
      draws_(options.mean ? 1 : options.draws),
      shared_luck_(options.penalty > 0.0 || options.stop) {
  if (!inputs.actions.empty()) {
    model_ = RefitEffect(model_, inputs.dataset, inputs.actions, 0, inputs.threads);
  }
  if (options_.stop) Calibrate();
}

WorldDynamics::~WorldDynamics() = default;

std::unique_ptr<WorldDynamics::Scratch> WorldDynamics::Take() const {
  const std::scoped_lock lock(mutex_);
  if (idle_.empty()) return std::make_unique<Scratch>(*this);
  auto scratch = std::move(idle_.back());
  idle_.pop_back();
  return scratch;
}

void WorldDynamics::Give(std::unique_ptr<Scratch> scratch) const {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(scratch));
}

void WorldDynamics::Advance(const AdvanceBatch& batch) const {
  auto scratch = Take();
  for (size_t begin = 0; begin < batch.n; begin += kSlots) {
    Slots(batch, begin, std::min(batch.n, begin + kSlots), *scratch);
  }
  Give(std::move(scratch));
}

void WorldDynamics::Slots(const AdvanceBatch& batch, size_t begin, size_t end,
                          Scratch& scratch) const {
  const size_t slots = end - begin;
  const size_t width = scratch.width;
  for (size_t s = 0; s < slots; ++s) {
    double* luck = scratch.luck.data() + s * scratch.luck_size;
    if (!options_.mean) {
      // The clones of a group stand side by side and share their luck.
      if (s > 0 && batch.noise[begin + s] == batch.noise[begin + s - 1]) {
        std::copy_n(luck - scratch.luck_size, scratch.luck_size, luck);
      } else {
        DrawLuck(batch.noise[begin + s], luck);
      }
    }
    for (size_t r = 0; r < scratch.rollouts; ++r) {
      std::copy_n(batch.state + (begin + s) * width, width,
                  scratch.state.data() + (s * scratch.rollouts + r) * width);
    }
  }
  std::ranges::fill(scratch.outcome, Outcome{});
  for (int event = 0; event < hold_; ++event) {
    RunEvent(batch, begin, slots, event, scratch);
    std::swap(scratch.state, scratch.next);
  }
  Settle(batch, begin, slots, scratch);
}

/// Uniform numbers of a decision: each (event, use) has one in every of n equal parts of [0, 1), in
/// an order by lot.
void WorldDynamics::DrawLuck(uint64_t key, double* luck) const {
  const size_t uses = static_cast<size_t>(hold_) * kEventUniforms;
  const size_t n = shared_luck_ ? draws_ : draws_ * model_.members.size();
  Rng rng(key, 11);
  for (size_t use = 0; use < uses; ++use) {
    for (size_t i = 0; i < n; ++i) {
      luck[i * uses + use] = (static_cast<double>(i) + rng.Uniform()) / static_cast<double>(n);
    }
    for (size_t i = n; i > 1; --i) {
      std::swap(luck[(i - 1) * uses + use], luck[rng.Below(i) * uses + use]);
    }
  }
}

/// One event of every rollout, member by member.
void WorldDynamics::RunEvent(const AdvanceBatch& batch, size_t begin, size_t slots, int event,
                             Scratch& scratch) const {
  const size_t width = scratch.width;
  const size_t uses = static_cast<size_t>(hold_) * kEventUniforms;
  const bool first = event == 0;  // all draws of a member stand in one state
  const size_t copies = first ? 1 : draws_;
  const auto rollout = [&](size_t m, size_t column) {  // the first that the column stands for
    return column / copies * scratch.rollouts + m * draws_ + column % copies;
  };
  for (size_t m = 0; m < model_.members.size(); ++m) {
    const size_t columns = slots * copies;
    for (size_t at = 0; at < columns; at += WorldBlock::kColumns) {
      const size_t count = std::min(WorldBlock::kColumns, columns - at);
      for (size_t c = 0; c < count; ++c) {
        const double* state = scratch.state.data() + rollout(m, at + c) * width;
        model_.Encode(features_, state, scratch.inputs);
        scratch.block.Set(c, scratch.inputs, state[features_.previous_action()],
                          batch.action[begin + (at + c) / copies]);
      }
      scratch.block.Forward(model_.members[m], count);
      for (size_t c = 0; c < count; ++c) {
        const size_t s = (at + c) / copies;
        for (size_t d = 0; d < draws_ / copies; ++d) {
          const size_t r = rollout(m, at + c) + d;
          const size_t stratum =
              shared_luck_ ? (r % scratch.rollouts) % draws_ : r % scratch.rollouts;
          const double* luck = scratch.luck.data() + s * scratch.luck_size + stratum * uses +
                               static_cast<size_t>(event) * kEventUniforms;
          const TaskEvent sampled =
              options_.mean
                  ? MeanEvent(scratch.block.out(c), model_.targets)
                  : SampleEvent(scratch.block.out(c), model_.targets,
                                std::span<const double, kEventUniforms>(luck, kEventUniforms));
          AddEvent(sampled, scratch.outcome[r]);
          features_.Advance(scratch.state.data() + r * width, sampled, batch.action[begin + s],
                            scratch.next.data() + r * width);
        }
      }
    }
  }
}

void WorldDynamics::Settle(const AdvanceBatch& batch, size_t begin, size_t slots,
                           Scratch& scratch) const {
  const size_t width = scratch.width;
  const size_t terms = reward_.outcome_terms();
  const size_t members = model_.members.size();
  for (size_t s = 0; s < slots; ++s) {
    const size_t i = begin + s;
    const double* before = batch.state + i * width;
    double* mine = scratch.member_terms.data();
    std::fill_n(mine, members * terms, 0.0);
    for (size_t r = 0; r < scratch.rollouts; ++r) {
      Outcome& outcome = scratch.outcome[s * scratch.rollouts + r];
      const double* after = scratch.state.data() + (s * scratch.rollouts + r) * width;
      outcome.log_wait /= outcome.events;
      outcome.log_slowdown /= outcome.events;
      if (width >= kSeedFeatures) {
        outcome.seed_exec_gain = after[kExecColumn] - before[kExecColumn];
        outcome.seed_wait_gain = after[kWaitColumn] - before[kWaitColumn];
      }
      double values[Reward::kMaxTerms];
      reward_.FromOutcome(outcome, values);
      for (size_t t = 0; t < terms; ++t) mine[r / draws_ * terms + t] += values[t];
    }
    double* out = batch.terms + i * terms;
    double total_spread = 0.0;
    const auto spread = [&](const auto& value) {  // over members
      double mean = 0.0, squares = 0.0;
      for (size_t m = 0; m < members; ++m) mean += value(m);
      mean /= static_cast<double>(members);
      for (size_t m = 0; m < members; ++m) squares += (value(m) - mean) * (value(m) - mean);
      return std::pair(mean,
                       std::sqrt(squares / static_cast<double>(std::max<size_t>(members - 1, 1))));
    };
    const auto per_draw = static_cast<double>(draws_);
    for (size_t t = 0; t < terms; ++t) {
      const auto [mean, sd] = spread([&](size_t m) { return mine[m * terms + t] / per_draw; });
      out[t] = mean - options_.penalty * sd;
    }
    total_spread = spread([&](size_t m) {
                     double sum = 0.0;
                     for (size_t t = 0; t < terms; ++t) sum += mine[m * terms + t] / per_draw;
                     return sum;
                   }).second;
    batch.next_row[i] = kNoRow;
    const bool stuck = options_.stop && total_spread > stop_at_ && !worst_.empty();
    if (stuck) std::ranges::copy(worst_, out);
    const size_t chosen = MixSeed(batch.noise[i], 13) % scratch.rollouts;
    const double* next =
        stuck ? before : scratch.state.data() + (s * scratch.rollouts + chosen) * width;
    std::copy_n(next, width, batch.next_state + i * width);
  }
}

/// Where the members usually disagree, and how bad a bad outcome is: at recorded states under
/// actions by lot.
void WorldDynamics::Calibrate() {
  const size_t n = kCalibrationStates;
  const size_t width = dataset_.feature_count();
  const size_t terms = reward_.outcome_terms();
  std::vector<double> spread, values[Reward::kMaxTerms];
  std::vector<double> state(width), next(width), out(terms);
  Rng rng(0, 17);
  for (size_t k = 0; k < n; ++k) {
    const auto row = static_cast<uint32_t>(rng.Below(dataset_.size()));
    const double action = rng.Uniform(-1.0, 1.0);
    const uint64_t noise = MixSeed(row, 1);
    uint32_t next_row = kNoRow;
    std::ranges::copy(dataset_.state(row), state.begin());
    auto scratch = Take();
    const AdvanceBatch one{.n = 1,
                           .state = state.data(),
                           .action = &action,
                           .row = &row,
                           .noise = &noise,
                           .next_state = next.data(),
                           .next_row = &next_row,
                           .terms = out.data()};
    stop_at_ = std::numeric_limits<double>::infinity();
    Slots(one, 0, 1, *scratch);
    double sum = 0.0, squares = 0.0;
    for (size_t m = 0; m < model_.members.size(); ++m) {
      double total = 0.0;
      for (size_t t = 0; t < terms; ++t) total += scratch->member_terms[m * terms + t];
      total /= static_cast<double>(draws_);
      sum += total;
      squares += total * total;
    }
    const auto members = static_cast<double>(model_.members.size());
    spread.push_back(
        std::sqrt(std::max(0.0, squares - sum * sum / members) / std::max(members - 1.0, 1.0)));
    for (size_t t = 0; t < terms; ++t) values[t].push_back(out[t]);
    Give(std::move(scratch));
  }
  std::ranges::sort(spread);
  stop_at_ = spread[n * 99 / 100];
  for (size_t t = 0; t < terms; ++t) {
    std::ranges::sort(values[t]);
    worst_.push_back(values[t][n / 100]);
  }
}

Simulated WorldDynamics::Simulate(std::span<const double> state, double action) const {
  thread_local std::vector<double> answer;
  thread_local std::vector<double> next;
  answer.assign(state.size(), 0.0);
  next.resize(state.size());
  if (state.size() != dataset_.feature_count()) {
    throw Error(ErrorCode::kUsage, fmt::format("simulate: a state of {} values, need {}",
                                               state.size(), dataset_.feature_count()));
  }
  auto scratch = Take();
  for (const WorldMember& member : model_.members) {
    model_.Encode(features_, state.data(), scratch->inputs);
    scratch->block.Set(0, scratch->inputs, state[features_.previous_action()], action);
    scratch->block.Forward(member, 1);
    features_.Advance(state.data(), MeanEvent(scratch->block.out(0), model_.targets), action,
                      next.data());
    for (size_t f = 0; f < next.size(); ++f) {
      answer[f] += next[f] / static_cast<double>(model_.members.size());
    }
  }
  Give(std::move(scratch));
  return {.next_state = answer, .distance = 0.0};
}

std::unique_ptr<Dynamics> MakeWorldDynamics(std::string_view argument,
                                            const DynamicsInputs& inputs) {
  const auto options = WorldDynamicsOptions::Parse(argument);
  return std::make_unique<WorldDynamics>(WorldModel::Load(options.file), options, inputs);
}

}  // namespace kernelx
