// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/conclusions.h"

#include <fmt/format.h>

#include <algorithm>

namespace kernelx {
namespace {

std::string Describe(const PairedRow& row) {
  return fmt::format("{:+.3f} [{:+.3f}, {:+.3f}] ({})", row.diff.value, row.diff.lo, row.diff.hi,
                     row.estimator);
}

std::vector<std::string> BaselinesOf(const Evaluation& evaluation, const std::string& policy) {
  std::vector<std::string> baselines;
  for (const PairedRow& row : evaluation.paired) {
    if (row.policy == policy && std::ranges::find(baselines, row.versus) == baselines.end()) {
      baselines.push_back(row.versus);
    }
  }
  return baselines;
}

}  // namespace

Conclusions Conclude(const Evaluation& evaluation, const std::string& policy) {
  Conclusions out;
  for (const std::string& versus : BaselinesOf(evaluation, policy)) {
    bool better = true;
    std::string figures, why;
    for (const PairedRow& row : evaluation.paired) {
      if (row.policy != policy || row.versus != versus || row.estimator == "model") continue;
      better = better && row.evaluable && row.diff.lo > 0.0;
      if (!row.evaluable) why = row.why;
      figures += (figures.empty() ? "" : ", ") + Describe(row);
    }
    if (better) {
      out.shown.push_back(fmt::format("{} is better than {}: {}", policy, versus, figures));
    } else if (!why.empty()) {
      out.not_shown.push_back(
          fmt::format("{} against {} cannot be judged: {}", policy, versus, why));
    } else {
      out.not_shown.push_back(
          fmt::format("{} is not clearly better than {}: {}", policy, versus, figures));
    }
  }
  out.not_shown.emplace_back(
      "What happens when every task follows the policy at once: the estimate is that of a small "
      "deviation while neighbours act at random. Only a live A/B on a running kernel tells that");
  out.not_shown.emplace_back("Any other machine, kernel or load than the recorded ones");
  return out;
}

}  // namespace kernelx
