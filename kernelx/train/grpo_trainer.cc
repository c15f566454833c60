// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/grpo_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr double kSaturated = 0.95;

GrpoOptions Checked(GrpoOptions options) {
  options.Check();
  return options;
}

}  // namespace

GrpoTrainer::GrpoTrainer(MlpPolicy policy, GroupEnv& env, GrpoOptions options)
    : policy_(std::move(policy)),
      env_(env),
      options_(Checked(std::move(options))),
      grpo_(options_, policy_.net()) {
  if (policy_.state_size() != env_.observation_size()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("[train.GrpoTrainer] the policy is bound to {} features, the environment "
                    "shows {}; bind the policy to the environment's features",
                    policy_.state_size(), env_.observation_size()));
  }
}

UpdateMetrics GrpoTrainer::Update() {
  UpdateMetrics metrics;
  metrics.update = static_cast<double>(update_);
  metrics.horizon = static_cast<double>(options_.HorizonAt(update_));
  metrics.learning_rate = options_.LearningRateAt(update_);
  metrics.kl_weight = options_.KlWeightAt(update_);
  Collect(metrics);
  grpo_.Learn(policy_.mutable_net(), batch_, metrics.learning_rate, metrics.kl_weight, metrics);
  ++update_;
  return metrics;
}

void GrpoTrainer::Run(const std::function<bool(const UpdateMetrics&)>& after) {
  while (!finished()) {
    if (!after(Update())) return;
  }
}

void GrpoTrainer::Collect(UpdateMetrics& metrics) {
  const size_t horizon = options_.HorizonAt(update_);
  batch_.Resize(options_.states, options_.group_size, horizon, policy_.net().input_size());
  const size_t members = batch_.members();
  const size_t width = env_.observation_size();
  observations_.resize(width * members);
  actions_.resize(members);
  rewards_.resize(members);
  done_.resize(members);
  ended_.assign(members, 0);

  const std::span<double> shared(observations_.data(), width * batch_.groups);
  env_.Reset({.update = update_,
              .groups = batch_.groups,
              .group_size = batch_.group_size,
              .horizon = horizon},
             shared);
  double reward = 0.0;
  double action = 0.0;
  double saturated = 0.0;
  double alive = 0.0;
  for (size_t t = 0; t < horizon; ++t) {
    Encode(t, t == 0 ? shared : std::span<double>(observations_));
    const size_t first = batch_.FirstColumn(t);
    grpo_.ComputeLaws(policy_.net(), batch_, first, first + (t == 0 ? batch_.groups : members));
    Draw(t);
    const bool last = t + 1 == horizon;
    env_.Step(actions_, rewards_, done_, last ? std::span<double>() : observations_);
    TakeRewards(t);
    for (size_t m = 0; m < members; ++m) {
      if (batch_.alive[batch_.SampleAt(t, m)] == 0) continue;
      alive += 1.0;
      reward += rewards_[m];
      action += actions_[m];
      saturated += std::abs(actions_[m]) > kSaturated ? 1.0 : 0.0;
    }
  }
  metrics.reward = reward / alive;
  metrics.action_mean = action / alive;
  metrics.action_saturated = saturated / alive;
}

void GrpoTrainer::Encode(size_t decision, std::span<const double> observations) {
  const size_t width = env_.observation_size();
  const size_t inputs = policy_.net().input_size();
  const size_t columns = observations.size() / width;
  const size_t first = batch_.FirstColumn(decision);
  for (size_t c = 0; c < columns; ++c) {
    const bool good = policy_.Encode(observations.subspan(c * width, width),
                                     {batch_.inputs.data() + (first + c) * inputs, inputs});
    const bool ended = decision > 0 && ended_[c] != 0;
    if (good || ended) continue;
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("[train.GrpoTrainer] update {}, decision {}, {} {}: the environment shows "
                    "a feature that is no number; check the dynamics and the data",
                    update_, decision, decision == 0 ? "state" : "member", c));
  }
}

void GrpoTrainer::Draw(size_t decision) {
  const size_t first = batch_.FirstColumn(decision);
  const size_t g = batch_.group_size;
  const uint64_t stream = MixSeed(update_, decision);
  for (size_t i = 0; i < batch_.groups; ++i) {
    // A stream a (seed, update, decision, state): independent of all else that is drawn.
    Rng rng(options_.seed, MixSeed(stream, i));
    for (size_t j = 0; j < g; ++j) {
      const size_t m = i * g + j;
      const TanhGaussian& law = batch_.old_law[first + (decision == 0 ? i : m)];
      const double u = law.mean + std::exp(law.log_std) * rng.Normal();
      batch_.u[batch_.SampleAt(decision, m)] = u;
      actions_[m] = std::tanh(u);
    }
  }
}

void GrpoTrainer::TakeRewards(size_t decision) {
  for (size_t m = 0; m < batch_.members(); ++m) {
    const size_t s = batch_.SampleAt(decision, m);
    batch_.alive[s] = ended_[m] == 0 ? 1 : 0;
    batch_.rewards[s] = ended_[m] == 0 ? rewards_[m] : 0.0;
    if (!std::isfinite(batch_.rewards[s])) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("[train.GrpoTrainer] update {}, decision {}, state {}, member {}: the "
                      "reward of action {} is {}; check the reward and the dynamics",
                      update_, decision, m / batch_.group_size, m % batch_.group_size, actions_[m],
                      rewards_[m]));
    }
    ended_[m] = static_cast<uint8_t>(ended_[m] != 0 || done_[m] != 0);
  }
}

}  // namespace kernelx
