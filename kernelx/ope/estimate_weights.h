// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// From the law of a policy to the weight of a logged action, and to the mean of an outcome model
// over the policy's own actions.
//
// A law is either continuous on (-1, 1) or, for a policy that answers exactly 0 where the lottery
// has mass at 0, that very point. Any other point is smoothed: it stands for the policy played
// within +-bandwidth of it (Epanechnikov kernel), and that smoothed law is what is evaluated, in
// the weights and in the model alike.
#pragma once

#include <array>

#include "kernelx/policy/policy.h"

namespace kernelx {

/// The functions of the action an outcome model is linear in, next to 1: a, a^2, |a|.
inline constexpr size_t kActionFunctions = 3;
using ActionBasis = std::array<double, kActionFunctions>;

[[nodiscard]] ActionBasis BasisAt(double action);

/// Share of the kernel around `center` that lies inside [-1, 1]: 1 in the middle, 1/2 at the ends.
[[nodiscard]] double KernelMassInside(double center, double bandwidth);

/// True where the law is evaluated through the kernel, so that the bandwidth matters.
[[nodiscard]] bool UsesKernel(const ActionLaw& law, double p_zero);

/// Density of the law at `action`, or its mass there, over the lottery's: mass 1 against `p_zero`
/// at 0 for a point policy at 0, density against (1 - p_zero) / 2 elsewhere, and 0 where a law of
/// either kind meets a row of the other. Its mean under the lottery is 1. NaN centres throw
/// kBadInput.
[[nodiscard]] double ImportanceWeight(const ActionLaw& law, double action, double p_zero,
                                      double bandwidth);

/// Mean of `BasisAt(a)` over the law as it is evaluated; quadrature with 32 nodes on each side of
/// the kink at 0, exact for points, kernels and the uniform law.
[[nodiscard]] ActionBasis ExpectedBasis(const ActionLaw& law, double p_zero, double bandwidth);

/// The law a deployment plays: always the median.
[[nodiscard]] ActionLaw AtMedian(const ActionLaw& law);

/// The law with its spread before the tanh multiplied by `temperature` > 0; points and the uniform
/// law stay as they are.
[[nodiscard]] ActionLaw Tempered(const ActionLaw& law, double temperature);

}  // namespace kernelx
