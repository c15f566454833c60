// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Actions by lot, with known odds: what makes a recording tell causes from coincidence.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernelx/ground/rng.h"
#include "kernelx/live/decider.h"

namespace kernelx {

struct ExploreOptions {
  double p_draw = 0.1;   ///< mode task: probability of a draw at each event of a task
  double p_zero = 0.15;  ///< that a draw is exactly 0; else it is Uniform(-1, 1)
  uint64_t window_ns = 2'000'000'000;
  uint64_t seed = 1;
  /// What stands when nothing was drawn. Empty: the last draw stands. A policy: its action, taken
  /// up again `hold` events after a draw, so that a draw is one task's step aside while its
  /// neighbours follow the policy.
  std::string policy = {};
};

/// Time is cut in windows, half of them by lot in mode `task`: at each event of a task, with
/// probability p_draw, an action is drawn. In mode `group` one action a command name and window is
/// drawn from the same law and set at each task's first event in the window; around a policy only
/// for one name in three.
class Explorer final : public Decider {
 public:
  explicit Explorer(const ExploreOptions& options);

  [[nodiscard]] const FeatureSet& features() const override;
  [[nodiscard]] bool NeedsValues(const Standing& standing, uint64_t now_ns) const override;
  std::optional<Decision> Decide(const SchedEvent& event, std::span<const double> values,
                                 const Standing& standing) override;
  [[nodiscard]] std::string Why(std::span<const double> values) const override;

 private:
  ExploreOptions options_;
  std::optional<PolicyDecider> policy_;
  Rng rng_;
  uint64_t begin_ns_ = 0;
};

}  // namespace kernelx
