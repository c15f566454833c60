// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/report_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kernelx {
namespace {

constexpr std::string_view kBuiltIns[] = {"none", "random", "heuristic", "interactive",
                                          "best-constant"};
constexpr std::string_view kShapedBuiltIns[] = {"interactive", "heuristic"};

std::string Fixed(double value, bool sign) {
  if (!std::isfinite(value)) return "-";
  const int decimals = std::abs(value) < 100.0 ? 3 : std::abs(value) < 10000.0 ? 1 : 0;
  if (std::abs(value) < 0.5 * std::pow(10.0, -decimals)) return "0.000";
  return sign ? fmt::format("{:+.{}f}", value, decimals) : fmt::format("{:.{}f}", value, decimals);
}

std::string Between(const Interval& interval, bool sign) {
  if (!std::isfinite(interval.lo) || !std::isfinite(interval.hi)) return "-";
  return Fixed(interval.lo, sign) + " .. " + Fixed(interval.hi, sign);
}

}  // namespace

std::string_view Meaning() {
  return "Each estimate is the value of a small deviation from the logging policy, one decision "
         "of one task at a time while its neighbours go on acting at random; it is not a full "
         "roll-out, where a policy in force everywhere meets other states and other neighbours.";
}

bool ActionBlind(std::string_view dynamics) {
  return dynamics == "replay" || dynamics == "nearest-state";
}

std::string ModelCaveat(const Evaluation& evaluation) {
  if (ActionBlind(evaluation.dynamics)) {
    return fmt::format(
        "`{}` never reads the action: what follows a decision is the same whatever the decision "
        "was. Its score cannot reflect the action, only the terms that read it directly.",
        evaluation.dynamics);
  }
  return fmt::format(
      "What `{}` says of the policies. No logged outcome corrects it, so it is an opinion and no "
      "evidence.",
      evaluation.dynamics);
}

std::string BestConstantOrigin(const Evaluation& evaluation) {
  if (evaluation.best_constant_from_training) return "chosen on training data";
  if (!evaluation.not_evaluable.empty()) return "nothing to choose it by";
  return "chosen on these very rows, which flatters it";
}

std::string Figure(double value) { return Fixed(value, false); }
std::string SignedFigure(double value) { return Fixed(value, true); }
std::string IntervalFigure(const Interval& interval) { return Between(interval, false); }
std::string SignedIntervalFigure(const Interval& interval) { return Between(interval, true); }

std::string CountFigure(size_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

bool IsBuiltIn(std::string_view policy) {
  return std::ranges::find(kBuiltIns, policy) != std::end(kBuiltIns);
}

std::vector<const PolicyScore*> Subjects(const Evaluation& evaluation) {
  std::vector<const PolicyScore*> subjects;
  bool before_none = true;
  for (const PolicyScore& policy : evaluation.policies) {
    before_none = before_none && policy.estimate.name != "none";
    if (before_none || !IsBuiltIn(policy.estimate.name)) subjects.push_back(&policy);
  }
  if (subjects.empty()) {
    for (const PolicyScore& policy : evaluation.policies) subjects.push_back(&policy);
  }
  return subjects;
}

std::vector<const PolicyScore*> Shaped(const Evaluation& evaluation) {
  std::vector<const PolicyScore*> shaped;
  for (const PolicyScore& policy : evaluation.policies) {
    if (!IsBuiltIn(policy.estimate.name)) shaped.push_back(&policy);
  }
  for (const std::string_view name : kShapedBuiltIns) {
    for (const PolicyScore& policy : evaluation.policies) {
      if (policy.estimate.name == name) shaped.push_back(&policy);
    }
  }
  return shaped;
}

const PairedRow* FindPair(const std::vector<PairedRow>& rows, std::string_view policy,
                          std::string_view versus, std::string_view estimator) {
  for (const PairedRow& row : rows) {
    if (row.policy == policy && row.versus == versus && row.estimator == estimator) return &row;
  }
  return nullptr;
}

std::vector<std::string> Baselines(const Evaluation& evaluation) {
  std::vector<std::string> names;
  for (const PolicyScore& policy : evaluation.policies) {
    const std::string& name = policy.estimate.name;
    const auto against = [&](const PairedRow& row) { return row.versus == name; };
    if (std::ranges::any_of(evaluation.paired, against)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Reasons(const std::vector<PairedRow>& rows) {
  std::vector<std::string> reasons;
  for (const PairedRow& row : rows) {
    if (!row.evaluable && std::ranges::find(reasons, row.why) == reasons.end()) {
      reasons.push_back(row.why);
    }
  }
  return reasons;
}

}  // namespace kernelx
