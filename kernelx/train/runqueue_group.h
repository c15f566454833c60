// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernelx/env/reward.h"
#include "kernelx/env/runqueue_episode.h"
#include "kernelx/train/group_env.h"

namespace kernelx {

/// The simulated machine as GRPO sees it: each group is G copies of one machine at an event where
/// the lottery drew for one task, so that members share all luck; the neighbours go on drawing.
class RunQueueGroup final : public GroupEnv {
 public:
  struct Options {
    ExploreLaw law{.group_share = 0.0};
    int hold = 5;
    uint64_t seed = 1;
    unsigned threads = 0;  ///< of a step; 0: one a core
  };
  /// `reward` must outlive this. Every group of an update starts at another draw of one machine,
  /// which begins afresh with each update.
  RunQueueGroup(std::shared_ptr<const RunQueueLoad> load, const Reward& reward, FeatureSet set,
                const Options& options);

  [[nodiscard]] size_t observation_size() const override { return set_.size(); }
  void Reset(const GroupRequest& request, std::span<double> observations) override;
  void Step(std::span<const double> actions, std::span<double> rewards, std::span<uint8_t> done,
            std::span<double> observations) override;

 private:
  std::shared_ptr<const RunQueueLoad> load_;
  const Reward& reward_;
  FeatureSet set_;
  Options options_;
  size_t group_size_ = 1;
  std::vector<RunQueueEpisode> starts_;                  // a group, until its first step
  std::vector<std::optional<RunQueueEpisode>> members_;  // kept while another step may follow
  size_t steps_left_ = 0;
};

}  // namespace kernelx
