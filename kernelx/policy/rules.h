// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Policies that are written, not learned. A new one is a function from feature values to an action
// and a row in the table of registry.cc.
#pragma once

#include <string>
#include <vector>

#include "kernelx/policy/policy.h"

namespace kernelx {

// Where the interactive rule draws its lines, between the kinds of task that an evaluation tells
// apart as well.
inline constexpr double kRegularBelow = 0.35;    ///< wake_irregularity of a regular task
inline constexpr double kTimerWokenAbove = 0.5;  ///< timer_share of a timer-woken one
inline constexpr double kHogAboveUs = 50'000.0;  ///< CPU since the last sleep of a hog

/// The same law in every state; reads no feature.
class FixedPolicy final : public Policy {
 public:
  FixedPolicy(std::string name, ActionLaw law) : name_(std::move(name)), law_(law) {}
  [[nodiscard]] std::string name() const override { return name_; }
  void Bind(std::span<const std::string> /*feature_names*/) override {}
  [[nodiscard]] ActionLaw Law(std::span<const double> /*features*/) const override { return law_; }

 private:
  std::string name_;
  ActionLaw law_;
};

/// A deterministic function of a few named features.
class RulePolicy final : public Policy {
 public:
  /// Gets the features in the order of the names given; at most kMaxInputs.
  using Rule = double (*)(std::span<const double> inputs);
  static constexpr size_t kMaxInputs = 8;

  RulePolicy(std::string name, std::vector<std::string> inputs, Rule rule)
      : name_(std::move(name)), inputs_(std::move(inputs)), rule_(rule) {}
  [[nodiscard]] std::string name() const override { return name_; }
  void Bind(std::span<const std::string> feature_names) override;
  [[nodiscard]] ActionLaw Law(std::span<const double> features) const override;

 private:
  std::string name_;
  std::vector<std::string> inputs_;
  Rule rule_;
  std::vector<size_t> columns_;
};

/// The seed's thresholds, on the seed's features `wt_us` and `csw`.
[[nodiscard]] RulePolicy MakeHeuristicPolicy();

/// Tasks that wake regularly or by timer: -1. Tasks that have used more than 50 ms of CPU since
/// they last slept: +0.6. All others: 0.
[[nodiscard]] RulePolicy MakeInteractivePolicy();

}  // namespace kernelx
