// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/estimate_draws.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

void CheckSize(std::string_view field, size_t size, size_t expected) {
  if (size == expected) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("ope.LoggedDraws: {} has {} values where {} are needed; give one a row",
                          field, size, expected));
}

template <typename Ok>
void CheckValues(std::string_view field, const std::vector<double>& values, Ok&& ok,
                 std::string_view range) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (ok(values[i])) continue;
    throw Error(ErrorCode::kBadInput,
                fmt::format("ope.LoggedDraws: {} of row {} is {}; it must be {}", field, i,
                            values[i], range));
  }
}

}  // namespace

void LoggedDraws::Validate() const {
  const size_t n = rows();
  if (n == 0) {
    throw Error(ErrorCode::kBadInput,
                "ope.LoggedDraws: 0 rows; off-policy estimates need randomised draws");
  }
  CheckSize("p_zero", p_zero.size(), n);
  CheckSize("cluster", cluster.size(), n);
  CheckSize("features", features.size(), n * feature_count);
  if (!fold.empty()) CheckSize("fold", fold.size(), n);
  if (rewards.empty()) {
    throw Error(ErrorCode::kBadInput, "ope.LoggedDraws: no reward; give the total first");
  }
  const auto finite = [](double x) { return std::isfinite(x); };
  CheckValues(
      "action", action, [](double a) { return a >= -1.0 && a <= 1.0; }, "in [-1, 1]");
  CheckValues(
      "p_zero", p_zero, [](double p) { return p >= 0.0 && p < 1.0; }, "in [0, 1)");
  for (const RewardTerm& term : rewards) {
    CheckSize("reward '" + term.name + "'", term.value.size(), n);
    CheckValues("reward '" + term.name + "'", term.value, finite, "finite");
  }
  for (size_t i = 0; i < features.size(); ++i) {
    if (finite(features[i])) continue;
    throw Error(ErrorCode::kBadInput,
                fmt::format("ope.LoggedDraws: feature {} of row {} is {}; it must be finite",
                            i % feature_count, i / feature_count, features[i]));
  }
  for (size_t i = 0; i < fold.size(); ++i) {
    if (fold[i] >= 0 && fold[i] < 1000) continue;
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("ope.LoggedDraws: fold of row {} is {}; it must be in 0 .. 999", i, fold[i]));
  }
}

}  // namespace kernelx
