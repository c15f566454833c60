// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/live/decider.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernelx/policy/mlp_policy.h"
#include "kernelx/policy/registry.h"

namespace kernelx {
namespace {

constexpr int kDefaultHold = 5;

FeatureSet FeaturesOf(const Policy& policy, const std::string& where) {
  const auto* network = dynamic_cast<const MlpPolicy*>(&policy);
  if (network == nullptr || network->spec().feature_set.empty()) return FeatureSet::Extended();
  return FeatureSet::FromJson(network->spec().feature_set, where);
}

}  // namespace

PolicyDecider::PolicyDecider(const std::string& name_or_path, uint64_t rest_ns)
    : policy_(MakePolicy(name_or_path)),
      features_(FeaturesOf(*policy_, name_or_path)),
      rest_ns_(rest_ns) {
  policy_->Bind(features_.names());
  const auto* network = dynamic_cast<const MlpPolicy*>(policy_.get());
  hold_ = network != nullptr ? std::max(1, network->spec().hold) : kDefaultHold;
}

bool PolicyDecider::NeedsValues(const Standing& standing, uint64_t now_ns) const {
  return !standing.decided || (standing.events >= static_cast<uint32_t>(hold_) &&
                               now_ns >= standing.decided_ns + rest_ns_);
}

std::optional<Decision> PolicyDecider::Decide(const SchedEvent& event,
                                              std::span<const double> values,
                                              const Standing& standing) {
  if (!NeedsValues(standing, event.state.timestamp_ns)) return std::nullopt;
  return Decision{.action = policy_->Law(values).Median()};
}

std::string PolicyDecider::Why(std::span<const double> values) const {
  const auto* network = dynamic_cast<const MlpPolicy*>(policy_.get());
  if (network == nullptr) return policy_->name();
  const double center = policy_->Law(values).center;
  const auto names = features_.names();
  std::vector<double> changed(values.begin(), values.end());
  std::vector<std::pair<double, size_t>> effects;
  const MlpPolicySpec& spec = network->spec();
  for (size_t i = 0; i < spec.features.size(); ++i) {
    const int column = features_.Find(spec.features[i]);
    if (column < 0) continue;
    const auto at = static_cast<size_t>(column);
    const double own = std::exchange(changed[at], spec.mean.empty() ? 0.0 : spec.mean[i]);
    effects.emplace_back(center - policy_->Law(changed).center, at);
    changed[at] = own;
  }
  const size_t shown = std::min<size_t>(3, effects.size());
  std::partial_sort(
      effects.begin(), effects.begin() + static_cast<ptrdiff_t>(shown), effects.end(),
      [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  std::string why;
  for (size_t i = 0; i < shown; ++i) {
    why += fmt::format("{}{}={:.3g} ({:+.2f})", i == 0 ? "" : ", ", names[effects[i].second],
                       values[effects[i].second], effects[i].first);
  }
  return why;
}

}  // namespace kernelx
