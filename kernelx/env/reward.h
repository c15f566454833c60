// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Rewards. A reward has terms that follow from the outcome and terms that read the action itself;
// the two are kept apart, because only the first can show that an action did something.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/env/outcome.h"

namespace kernelx {

/// Weights of the presets; each reads its own.
struct RewardOptions {
  // seed
  double alpha = 1.0;
  double beta = 2.0;
  double gamma = 0.5;
  // balanced
  double price = 1.0;
  double effort = 0.05;
  double stability = 0.05;
};

class Reward {
 public:
  static constexpr size_t kMaxTerms = 8;

  virtual ~Reward() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Names of the terms, without `total`: first `outcome_terms()` from the outcome, then those that
  /// read the action.
  [[nodiscard]] virtual std::span<const std::string_view> terms() const = 0;
  [[nodiscard]] virtual size_t outcome_terms() const = 0;
  /// Does an out-of-range action act as its clamp on all but `format`? The seed's does not: it pays
  /// stability for the raw value.
  [[nodiscard]] virtual bool clamps() const { return true; }

  /// Writes `outcome_terms()` values.
  virtual void FromOutcome(const Outcome& outcome, double* terms) const = 0;
  /// Writes the remaining terms: of the action and the task's previous one.
  virtual void FromAction(double action, double previous_action, double* terms) const = 0;
  /// `FromAction` of n decisions: term t of decision i goes to terms[t * stride + i].
  virtual void FromActions(size_t n, const double* actions, const double* previous_actions,
                           double* terms, size_t stride) const;
};

/// `seed`: throughput, latency, stability, format exactly as the seed environment.
/// `balanced`: bounded slowdown, price of the CPU share, effort, stability, format (docs/env.md).
/// Throws kUsage naming the presets for any other name, and for a weight that is not finite.
std::unique_ptr<Reward> MakeReward(std::string_view preset, const RewardOptions& options = {});

}  // namespace kernelx
