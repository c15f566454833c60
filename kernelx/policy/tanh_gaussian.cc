// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/policy/tanh_gaussian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernelx/nn/vector_math.h"
#include "kernelx/policy/gauss_hermite.h"

namespace kernelx {
namespace {

constexpr double kLogSqrt2Pi = 0.91893853320467274178;
constexpr double kRange = PolicyHead::kMaxLogStd - PolicyHead::kMinLogStd;

double Logit(double p) { return std::log(p / (1.0 - p)); }

/// sigmoid(kMiddle) puts log_std at ln 0.5.
const double kMiddle = Logit((std::log(0.5) - PolicyHead::kMinLogStd) / kRange);

/// ln(1 - tanh(u)^2) without cancellation.
double LogJacobian(double u) {
  const double a = std::abs(u);
  return 2.0 * (std::numbers::ln2 - a - std::log1p(std::exp(-2.0 * a)));
}

}  // namespace

TanhGaussianValue LogDensityAt(const TanhGaussian& law, double u) {
  const double sigma = std::exp(law.log_std);
  const double z = (u - law.mean) / sigma;
  return {.value = -0.5 * z * z - law.log_std - kLogSqrt2Pi - LogJacobian(u),
          .d_mean = z / sigma,
          .d_log_std = z * z - 1.0};
}

TanhGaussianValue EntropyOf(const TanhGaussian& law) {
  // Both halves of the symmetric rule: nodes, then mirrored nodes.
  constexpr size_t kNodes = 2 * kHermiteHalf;
  const double sigma = std::exp(law.log_std);
  double u[kNodes];
  double decay[kNodes];  // e^-2|u|
  double log_term[kNodes];
  for (size_t i = 0; i < kHermiteHalf; ++i) {
    u[i] = law.mean + sigma * kHermiteNode[i];
    u[i + kHermiteHalf] = law.mean - sigma * kHermiteNode[i];
  }
  for (size_t i = 0; i < kNodes; ++i) decay[i] = -2.0 * std::abs(u[i]);
  ExpInPlace(decay);
  for (size_t i = 0; i < kNodes; ++i) log_term[i] = 1.0 + decay[i];
  LogInPlace(log_term);
  double jacobian = 0.0;
  double slope = 0.0;
  double spread = 0.0;
  for (size_t i = 0; i < kNodes; ++i) {
    const double weight = kHermiteWeight[i % kHermiteHalf];
    const double node = i < kHermiteHalf ? kHermiteNode[i] : -kHermiteNode[i - kHermiteHalf];
    const double tanh = std::copysign((1.0 - decay[i]) / (1.0 + decay[i]), u[i]);
    jacobian += weight * 2.0 * (std::numbers::ln2 - std::abs(u[i]) - log_term[i]);
    slope += weight * -2.0 * tanh;
    spread += weight * -2.0 * tanh * sigma * node;
  }
  return {.value = 0.5 + kLogSqrt2Pi + law.log_std + jacobian,
          .d_mean = slope,
          .d_log_std = 1.0 + spread};
}

TanhGaussianValue KullbackLeibler(const TanhGaussian& law, const TanhGaussian& reference) {
  const double precision = std::exp(-2.0 * reference.log_std);
  const double shift = law.mean - reference.mean;
  const double log_ratio = 2.0 * (law.log_std - reference.log_std);
  const double excess = std::expm1(log_ratio);  // variance ratio - 1; exactly 0 for equal laws
  return {.value = 0.5 * (shift * shift * precision + (excess - log_ratio)),
          .d_mean = shift * precision,
          .d_log_std = excess};
}

PolicyHead::PolicyHead(double o0, double o1) {
  const double bent = std::tanh(o0 / kMeanBound);
  law.mean = kMeanBound * bent;
  d_mean = 1.0 - bent * bent;
  const double share = 1.0 / (1.0 + std::exp(-(o1 + kMiddle)));
  law.log_std = kMinLogStd + kRange * share;
  d_log_std = kRange * share * (1.0 - share);
}

double PolicyHead::LogStdOutput(double std) {
  return Logit((std::log(std) - kMinLogStd) / kRange) - kMiddle;
}

double PolicyHead::MeanOutput(double mean) { return kMeanBound * std::atanh(mean / kMeanBound); }

double ActionLaw::Median() const {
  switch (kind) {
    case Kind::kPoint:
      return center;
    case Kind::kUniform:
      return 0.0;
    case Kind::kTanhGaussian:
      return std::tanh(center);
  }
  return 0.0;
}

double ActionLaw::LogDensity(double action) const {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (kind == Kind::kPoint || !(std::abs(action) <= 1.0)) return kNever;
  if (kind == Kind::kUniform) return -std::numbers::ln2;
  constexpr double kEdge = 1.0 - 1e-12;
  const double u = std::atanh(std::clamp(action, -kEdge, kEdge));
  return LogDensityAt({.mean = center, .log_std = log_std}, u).value;
}

double ActionLaw::Entropy() const {
  switch (kind) {
    case Kind::kPoint:
      return -std::numeric_limits<double>::infinity();
    case Kind::kUniform:
      return std::numbers::ln2;
    case Kind::kTanhGaussian:
      return EntropyOf({.mean = center, .log_std = log_std}).value;
  }
  return 0.0;
}

double ActionLaw::Sample(Rng& rng) const {
  switch (kind) {
    case Kind::kPoint:
      return center;
    case Kind::kUniform:
      return rng.Uniform(-1.0, 1.0);
    case Kind::kTanhGaussian:
      return std::tanh(center + std::exp(log_std) * rng.Normal());
  }
  return 0.0;
}

}  // namespace kernelx
