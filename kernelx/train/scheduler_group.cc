// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/scheduler_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"

namespace kernelx {

SchedulerGroup::SchedulerGroup(std::shared_ptr<const Scenario> scenario, uint64_t seed,
                               unsigned threads)
    : scenario_(std::move(scenario)), seed_(seed), threads_(threads) {}

void SchedulerGroup::Reset(const GroupRequest& request, std::span<double> observations) {
  if (request.horizon > static_cast<size_t>(scenario_->max_steps())) {
    throw Error(ErrorCode::kUsage,
                fmt::format("horizon {} is longer than the episodes' max_steps {}; raise it",
                            request.horizon, scenario_->max_steps()));
  }
  const size_t members = request.groups * request.group_size;
  if (!env_ || env_->size() != members) {
    // Ended members start over, unread, so that the rest of their update can go on.
    env_.emplace(scenario_, members, seed_, AutoReset::kSameStep, threads_);
  }
  const size_t width = scenario_->feature_count();
  for (size_t group = 0; group < request.groups; ++group) {
    const uint64_t key = MixSeed(MixSeed(seed_, request.update), group);
    const uint32_t row = scenario_->start(Rng(key).Below(scenario_->start_count()));
    for (size_t member = 0; member < request.group_size; ++member) {
      env_->ResetTo(group * request.group_size + member, row, key);
    }
    std::ranges::copy(env_->features(group * request.group_size),
                      observations.begin() + static_cast<ptrdiff_t>(group * width));
  }
}

void SchedulerGroup::Step(std::span<const double> actions, std::span<double> rewards,
                          std::span<uint8_t> done, std::span<double> observations) {
  env_->Step(actions);
  std::ranges::copy(env_->total(), rewards.begin());
  for (size_t i = 0; i < done.size(); ++i) {
    done[i] = static_cast<uint8_t>(env_->terminated()[i] | env_->truncated()[i]);
  }
  if (!observations.empty()) std::ranges::copy(env_->features(), observations.begin());
}

}  // namespace kernelx
