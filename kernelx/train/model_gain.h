// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/env/scenario.h"
#include "kernelx/policy/policy.h"

namespace kernelx {

/// The learning curve's figure: what one decision of a policy (its median action) gains over doing
/// nothing, at fixed states of one dataset, by the dynamics of a scenario built on another. It is
/// the model's opinion; only logged outcomes judge (kernelx/evaluate).
class ModelGain {
 public:
  /// Takes up to `count` evenly spaced rows of `states`, which has the scenario's features. Not for
  /// dynamics that only know recorded rows.
  ModelGain(const Scenario& scenario, const Dataset& states, size_t count, unsigned threads);

  [[nodiscard]] double operator()(const Policy& policy) const;

 private:
  [[nodiscard]] double Total(const std::vector<double>& actions) const;

  const Scenario& scenario_;
  unsigned threads_;
  size_t n_ = 0;
  std::vector<double> states_;  // n x features
  std::vector<double> previous_;
  std::vector<uint64_t> noise_;
  double nothing_ = 0.0;
};

}  // namespace kernelx
