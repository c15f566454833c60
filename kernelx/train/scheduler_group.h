// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "kernelx/env/scenario.h"
#include "kernelx/env/vector_env.h"
#include "kernelx/train/group_env.h"

namespace kernelx {

/// The scheduling environment as GRPO sees it: each group is G clones of an episode that starts at
/// a recorded row, with one random key, so that its members share their luck.
class SchedulerGroup final : public GroupEnv {
 public:
  /// `threads`: of a step (0: one a core). The scenario's max_steps must cover the longest horizon.
  SchedulerGroup(std::shared_ptr<const Scenario> scenario, uint64_t seed, unsigned threads);

  [[nodiscard]] size_t observation_size() const override { return scenario_->feature_count(); }
  void Reset(const GroupRequest& request, std::span<double> observations) override;
  void Step(std::span<const double> actions, std::span<double> rewards, std::span<uint8_t> done,
            std::span<double> observations) override;

 private:
  std::shared_ptr<const Scenario> scenario_;
  uint64_t seed_;
  unsigned threads_;
  std::optional<VectorEnv> env_;
};

}  // namespace kernelx
