// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The tanh-squashed Gaussian: u = mean + exp(log_std) eps, action = tanh(u). Its quantities and
// their derivatives, all double. What is squared in u is kept in u: recovering u from an action
// loses digits, so training never does.
#pragma once

#include <span>

#include "kernelx/policy/policy.h"

namespace kernelx {

/// Mean and log-std before the tanh.
struct TanhGaussian {
  double mean = 0.0;
  double log_std = 0.0;
};

/// A value with its derivatives to mean and log-std.
struct TanhGaussianValue {
  double value = 0.0;
  double d_mean = 0.0;
  double d_log_std = 0.0;
};

/// ln density of the action tanh(u): -z^2/2 - log_std - ln(2 pi)/2 - 2 (ln 2 - u - softplus(-2u)).
/// Finite for every finite u.
[[nodiscard]] TanhGaussianValue LogDensityAt(const TanhGaussian& law, double u);

/// Differential entropy of the action, by 32-node Gauss-Hermite (error below 1e-8 for std <= 1,
/// 3e-5 at the upper bound). At most ln 2, reached only by a uniform.
[[nodiscard]] TanhGaussianValue EntropyOf(const TanhGaussian& law);

/// KL(law || reference), the same before and after the tanh; derivatives to `law`.
[[nodiscard]] TanhGaussianValue KullbackLeibler(const TanhGaussian& law,
                                                const TanhGaussian& reference);

/// The policy head: two network outputs to a bounded law, and the chain rule back.
///
/// mean = 3 tanh(o0 / 3); log_std = -2.5 + 3 sigmoid(o1 + c), c such that o1 = 0 means std 0.5.
/// The floor e^-2.5 keeps overlap with the logging policy, the cap 0.5 keeps off bang-bang.
struct PolicyHead {
  static constexpr double kMeanBound = 3.0;
  static constexpr double kMinLogStd = -2.5;
  static constexpr double kMaxLogStd = 0.5;

  TanhGaussian law;
  double d_mean = 0.0;     ///< d mean / d o0
  double d_log_std = 0.0;  ///< d log_std / d o1

  PolicyHead(double o0, double o1);
  /// The o1 that gives the standard deviation `std`, e^-2.5 < std < e^0.5.
  [[nodiscard]] static double LogStdOutput(double std);
  /// The o0 that gives the mean `mean`, |mean| < 3.
  [[nodiscard]] static double MeanOutput(double mean);
};

}  // namespace kernelx
