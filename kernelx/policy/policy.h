// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// A policy looks at the features of a task at a switch-in and answers with an action in [-1, 1]:
// -1 boosts the task, +1 demotes it. The same object decides offline and live.
// Not here: what an action does to a task (env, live), and how a policy is trained (train).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernelx/ground/rng.h"

namespace kernelx {

/// The distribution a policy draws its action from, in one state. Estimators need its density, the
/// environment needs its draws, the kernel gets its median.
struct ActionLaw {
  enum class Kind : uint8_t {
    kPoint,         ///< always `center`
    kUniform,       ///< uniform on [-1, 1]
    kTanhGaussian,  ///< tanh(center + exp(log_std) * N(0, 1))
  };
  Kind kind = Kind::kPoint;
  double center = 0.0;   ///< the action (kPoint) or the mean before the tanh
  double log_std = 0.0;  ///< before the tanh

  /// The action to deploy: the median.
  [[nodiscard]] double Median() const;
  /// ln of the density at `action`, tanh Jacobian included; -inf for a point and outside [-1, 1].
  /// A tanh-Gaussian takes an action within 1e-12 of +-1 as that far from it, where its density is
  /// still a number.
  [[nodiscard]] double LogDensity(double action) const;
  /// Differential entropy on [-1, 1]; -inf for a point.
  [[nodiscard]] double Entropy() const;
  /// Uses one `Rng::Normal` (kTanhGaussian), one uniform (kUniform) or nothing (kPoint).
  double Sample(Rng& rng) const;
};

/// A rule or a network. Thread-safe: all state is fixed after `Bind`.
class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string name() const = 0;

  /// Finds the features the policy needs among `feature_names`, in column order. Throws kBadInput
  /// naming each feature that is missing. Must be called before `Law`.
  virtual void Bind(std::span<const std::string> feature_names) = 0;

  /// The law in the state `features` (as many values as `Bind` had names). Does not allocate. Where
  /// a feature it reads is no number (NaN, infinite, beyond any counter), the law is the point 0:
  /// leave the task alone.
  [[nodiscard]] virtual ActionLaw Law(std::span<const double> features) const = 0;
};

}  // namespace kernelx
