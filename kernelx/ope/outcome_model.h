// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// q(s, a): the mean outcome of action a in state s, fitted to logged draws. It takes variance out
// of the doubly robust estimate, which stays right when q is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernelx/ope/estimate_draws.h"
#include "kernelx/ope/estimate_weights.h"

namespace kernelx {

struct OutcomeModelOptions {
  /// How many of the functions a, a^2, |a| the model may use, each with an effect linear in the
  /// features; 0: q ignores the action.
  size_t action_functions = kActionFunctions;
  /// Random cosines of the standardised features, for what the state alone explains.
  size_t cosines = 200;
  /// Penalties tried, per row and unit variance of a column; each term keeps its best on held-out
  /// folds.
  std::vector<double> ridges = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
  size_t folds = 5;  ///< Ignored where the draws name their folds.
  uint64_t seed = 1;
  unsigned threads = 0;  ///< 0: one a core. Does not change the result.
};

/// Cross-fitted ridge regression, one model a fold and reward term: a row is always predicted by a
/// model that saw no row of its fold. Columns: 1, the features (standardised, cut at 5 sd),
/// cosines, and each action function times (1, features).
class OutcomeModel {
 public:
  /// Same answer for any thread count. Throws as `LoggedDraws::Validate`, which the caller has run.
  static OutcomeModel Fit(const LoggedDraws& draws, const OutcomeModelOptions& options = {});

  /// q of `row` at an action with this basis, or its mean over a law with this expected basis.
  [[nodiscard]] double Value(size_t row, size_t term, const ActionBasis& basis) const {
    const double* c = &coefficients_[(row * terms_ + term) * (1 + kActionFunctions)];
    double value = c[0];
    for (size_t j = 0; j < kActionFunctions; ++j) value += c[1 + j] * basis[j];
    return value;
  }

  /// Held-out share of the variance explained, a term; below 0 where the mean would do better.
  [[nodiscard]] const std::vector<double>& r_squared() const { return r_squared_; }
  /// The penalty each term kept.
  [[nodiscard]] const std::vector<double>& ridges() const { return ridges_; }

 private:
  size_t terms_ = 0;
  std::vector<double> coefficients_;  // rows x terms x (1 + kActionFunctions)
  std::vector<double> r_squared_;
  std::vector<double> ridges_;
};

/// The fold of each row: the draws' own, or a hash of the cluster modulo `folds`.
[[nodiscard]] std::vector<int> FoldsOf(const LoggedDraws& draws, size_t folds);

}  // namespace kernelx
