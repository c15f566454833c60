// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What the networks' outputs mean: the law of the next event. The wait has bins over ln(1 + us)
// with one for no wait at all, uniform within; what woke the task has a probability each; the rest
// are Gaussians.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernelx/world/event.h"

namespace kernelx {

inline constexpr size_t kWaitBins = 64;
/// Gaussian outputs: ln(1 + exec us), ln(1 + sleep us) where it slept, changes of util,
/// runnable_avg and runnable.
inline constexpr size_t kGaussians = 5;
inline constexpr size_t kHeadOutputs = kWaitBins + kWakes + 2 * kGaussians;

/// Bins over ln(1 + wait us): bin 0 is zero itself, the others are equally wide.
struct WaitBins {
  static constexpr double kLow = 0.4054651081081644;  ///< ln 1.5: below one whole microsecond
  static constexpr double kHigh = 14.0;               ///< 1.2 s
  static constexpr double kWidth = (kHigh - kLow) / (kWaitBins - 1);
  static size_t Of(double wait_us);
  /// Lower edge of bin k >= 1.
  static constexpr double Edge(size_t k) { return kLow + static_cast<double>(k - 1) * kWidth; }
  /// ln of the width that turns a probability into a density; 0 for the zero bin.
  static double LogWidth(size_t k);
};

/// What a head is asked to give. Gaussian targets are standardised.
struct HeadTarget {
  uint8_t bin = 0;
  uint8_t wake = 0;
  std::array<float, kGaussians> value{};
};

/// Negative log-likelihoods of one target, by head.
struct HeadLoss {
  double wait = 0.0;  ///< a density over ln(1 + us) above zero, a mass at zero
  double wake = 0.0;
  std::array<double, kGaussians> gaussian{};
  /// What early stopping looks at: wait, wake, exec and sleep.
  [[nodiscard]] double sum() const { return wait + wake + gaussian[0] + gaussian[1]; }
};

/// Loss of `out` (kHeadOutputs values) and, where `gradient` is not empty, `scale` times the
/// gradient of cross-entropies and beta-NLL (beta 0.5: NLL times the root of the variance, which is
/// held constant).
template <typename T>
HeadLoss EvaluateHeads(std::span<const T> out, const HeadTarget& target, std::span<T> gradient,
                       double scale);

/// Probabilities of the wait bins.
template <typename T>
void WaitProbabilities(std::span<const T> out, std::span<double, kWaitBins> p);

/// The law of a wait as its cumulative distribution at the bins' upper edges: linear within a bin,
/// an atom at zero.
class WaitLaw {
 public:
  explicit WaitLaw(std::span<const double, kWaitBins> p);

  [[nodiscard]] double Mass(size_t bin) const { return p_[bin]; }
  /// Of ln(1 + us).
  [[nodiscard]] double Quantile(double u) const;
  [[nodiscard]] double Mean() const;
  /// -ln of the density (the mass at zero).
  [[nodiscard]] double LogLoss(double wait_us) const;
  /// Integral of (F(y) - [y >= ln(1 + wait)])^2.
  [[nodiscard]] double Crps(double wait_us) const;

 private:
  std::array<double, kWaitBins> p_;
  std::array<double, kWaitBins> upper_;
};

/// Means and standard deviations of the Gaussian targets, in their own units.
struct TargetScale {
  std::array<double, kGaussians> mean{};
  std::array<double, kGaussians> sd{1.0, 1.0, 1.0, 1.0, 1.0};
};

/// Gaussian targets of an event, not standardised.
std::array<double, kGaussians> GaussianValues(const TaskEvent& event);
HeadTarget TargetOf(const TaskEvent& event, const TargetScale& scale);

/// Uniform numbers a sampled event takes.
inline constexpr size_t kEventUniforms = 2 + kGaussians;
/// An event by inverse distribution functions: equal uniforms under two laws give events that
/// differ only as the laws do.
TaskEvent SampleEvent(std::span<const float> out, const TargetScale& scale,
                      std::span<const double, kEventUniforms> uniforms);
/// The event of medians and mean probabilities.
TaskEvent MeanEvent(std::span<const float> out, const TargetScale& scale);

}  // namespace kernelx
