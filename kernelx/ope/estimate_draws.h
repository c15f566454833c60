// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernelx/policy/policy.h"

namespace kernelx {

/// One outcome of every row: the total reward or one of its terms.
struct RewardTerm {
  std::string name;
  std::vector<double> value;
};

/// Randomised decisions and what came of them: n rows, one a draw. Only rows whose action was drawn
/// by lot belong here; an action that merely stands is confounded with how often its task runs.
struct LoggedDraws {
  /// The action drawn, in [-1, 1].
  std::vector<double> action;
  /// Probability, in [0, 1), that the lottery gave exactly 0; otherwise it was uniform on (-1, 1),
  /// so every other action had the density (1 - p_zero) / 2.
  std::vector<double> p_zero;
  /// The unit that is resampled. Rows that share a task, or that share one draw (a group's window),
  /// must share the id.
  std::vector<uint64_t> cluster;
  /// At least one; the first is the total, by which policies are compared unless told otherwise.
  std::vector<RewardTerm> rewards;
  /// Row-major n x feature_count, known before the draw; the scale of a column does not matter, its
  /// shape does (logarithms of times, shares, indicators).
  std::vector<double> features;
  size_t feature_count = 0;
  /// Optional cross-fitting fold of each row, from 0; empty: five folds by a hash of the cluster.
  std::vector<int> fold;

  [[nodiscard]] size_t rows() const { return action.size(); }
  [[nodiscard]] double Density(size_t row) const { return 0.5 * (1.0 - p_zero[row]); }

  /// Throws kBadInput naming the field and the row: no rows, a size that differs, a value that is
  /// not finite or out of range.
  void Validate() const;
};

/// What a policy would have drawn from at each row of a `LoggedDraws`.
struct PolicyLaws {
  std::string name;
  std::vector<ActionLaw> laws;
};

}  // namespace kernelx
