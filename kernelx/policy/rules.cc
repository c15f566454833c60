// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/policy/rules.h"

#include <array>
#include <cmath>

#include "kernelx/policy/feature_index.h"

namespace kernelx {
namespace {

// Features of the interactive rule.
constexpr const char* kWakeIrregularity = "wake_irregularity";  // EMA of |change of ln interval|
constexpr const char* kTimerShare = "timer_share";              // EMA of the share woken by timer
constexpr const char* kCpuSinceSleep = "cpu_since_sleep";       // ln(1 + us)

double Heuristic(std::span<const double> inputs) {
  const double wait_us = inputs[0];
  const double switches = inputs[1];
  if (wait_us > 15.0) return -0.6;
  if (switches > 10.0) return -0.3;
  return wait_us < 3.0 ? 0.1 : 0.05;
}

double Interactive(std::span<const double> inputs) {
  const double irregularity = inputs[0];
  const double timer_share = inputs[1];
  const double cpu_since_sleep = inputs[2];
  if (irregularity < kRegularBelow || timer_share > kTimerWokenAbove) return -1.0;
  return cpu_since_sleep > std::log1p(kHogAboveUs) ? 0.6 : 0.0;
}

}  // namespace

void RulePolicy::Bind(std::span<const std::string> feature_names) {
  columns_ = FindFeatures(name_, inputs_, feature_names);
}

ActionLaw RulePolicy::Law(std::span<const double> features) const {
  std::array<double, kMaxInputs> values{};
  for (size_t i = 0; i < columns_.size(); ++i) {
    values[i] = features[columns_[i]];
    if (!IsFeatureValue(values[i])) return {};
  }
  return {.kind = ActionLaw::Kind::kPoint, .center = rule_({values.data(), columns_.size()})};
}

RulePolicy MakeHeuristicPolicy() { return {"heuristic", {"wt_us", "csw"}, Heuristic}; }

RulePolicy MakeInteractivePolicy() {
  return {"interactive", {kWakeIrregularity, kTimerShare, kCpuSinceSleep}, Interactive};
}

}  // namespace kernelx
