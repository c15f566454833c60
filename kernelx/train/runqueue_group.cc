// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/runqueue_group.h"

#include <algorithm>
#include <utility>

#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"

namespace kernelx {

RunQueueGroup::RunQueueGroup(std::shared_ptr<const RunQueueLoad> load, const Reward& reward,
                             FeatureSet set, const Options& options)
    : load_(std::move(load)), reward_(reward), set_(std::move(set)), options_(options) {}

void RunQueueGroup::Reset(const GroupRequest& request, std::span<double> observations) {
  group_size_ = request.group_size;
  steps_left_ = request.horizon;
  starts_.clear();
  members_.assign(request.groups * request.group_size, std::nullopt);
  RunQueueEpisode machine(load_, MixSeed(options_.seed, request.update), options_.law, set_);
  for (size_t group = 0; group < request.groups; ++group) {
    machine.ToDraw();
    starts_.push_back(machine);
    std::ranges::copy(machine.features(),
                      observations.begin() + static_cast<ptrdiff_t>(group * set_.size()));
  }
}

void RunQueueGroup::Step(std::span<const double> actions, std::span<double> rewards,
                         std::span<uint8_t> done, std::span<double> observations) {
  const size_t width = set_.size();
  const bool last = --steps_left_ == 0;
  ParallelFor(members_.size(), options_.threads, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!members_[i]) members_[i] = starts_[i / group_size_];
      RunQueueEpisode& episode = *members_[i];
      const double standing = episode.standing();
      const double action = std::clamp(actions[i], -1.0, 1.0);
      double terms[Reward::kMaxTerms];
      reward_.FromOutcome(episode.Decide(action, options_.hold), terms);
      reward_.FromAction(actions[i], standing, terms + reward_.outcome_terms());
      rewards[i] = 0.0;
      for (size_t t = 0; t < reward_.terms().size(); ++t) rewards[i] += terms[t];
      done[i] = last ? 1 : 0;
      if (!observations.empty()) {
        std::ranges::copy(episode.features(),
                          observations.begin() + static_cast<ptrdiff_t>(i * width));
      }
      if (last) members_[i].reset();
    }
  });
}

}  // namespace kernelx
