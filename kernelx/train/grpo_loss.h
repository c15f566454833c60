// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The loss of GRPO as a function of the network's two outputs in one state, with its gradient, in
// double. What is above (advantages) and below (the network) is none of its business.
//
//   L = -mean min(rho A, clip(rho) A) + kl_weight mean KL(pi || ref) - entropy_weight mean H(pi)
//
// rho = pi(a) / pi_old(a); the tanh Jacobian cancels in it and in KL, not in H.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernelx/policy/tanh_gaussian.h"

namespace kernelx {

struct GrpoLossOptions {
  double clip_low = 0.2;
  double clip_high = 0.28;
  double kl_weight = 0.0;
  double entropy_weight = 0.0;
  double sample_weight = 1.0;  ///< 1 / (S G T): what a mean over decisions divides by
};

/// The samples drawn in one state.
struct GrpoColumn {
  std::span<const double> u;
  std::span<const double> advantages;
  std::span<const uint8_t> alive;  ///< others do not count at all
  TanhGaussian old_law;
  TanhGaussian reference;
};

/// Sums over samples; what an update reports is these over `samples`.
struct GrpoSums {
  double loss = 0.0;     ///< already weighted
  double samples = 0.0;  ///< alive
  double clipped_low = 0.0;
  double clipped_high = 0.0;
  double kl = 0.0;         ///< to the reference
  double policy_kl = 0.0;  ///< KL(old || new)
  double entropy = 0.0;
  double std = 0.0;  ///< before the tanh

  GrpoSums& operator+=(const GrpoSums& other);
};

/// d loss / d outputs.
struct OutputGradient {
  double o0 = 0.0;
  double o1 = 0.0;
};

/// Adds the column's part of the loss to `sums` and returns its gradient.
OutputGradient GrpoLoss(double o0, double o1, const GrpoColumn& column,
                        const GrpoLossOptions& options, GrpoSums& sums);

}  // namespace kernelx
