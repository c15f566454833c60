// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/estimate_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr int kNodes = 32;
constexpr double kTailSigmas = 7.0;

struct Quadrature {
  std::array<double, kNodes> node;
  std::array<double, kNodes> weight;
};

/// Gauss-Legendre on [-1, 1], by Newton's iteration on the Legendre polynomial.
Quadrature GaussLegendre() {
  Quadrature q{};
  for (int i = 0; i < kNodes; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (kNodes + 0.5));
    double slope = 1.0;
    for (int iteration = 0; iteration < 100; ++iteration) {
      double previous = 1.0;
      double value = x;
      for (int k = 2; k <= kNodes; ++k) {
        const double next = ((2 * k - 1) * x * value - (k - 1) * previous) / k;
        previous = value;
        value = next;
      }
      slope = kNodes * (x * value - previous) / (x * x - 1.0);
      const double step = value / slope;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    q.node[i] = x;
    q.weight[i] = 2.0 / ((1.0 - x * x) * slope * slope);
  }
  return q;
}

/// Adds the integral of density(x) * BasisAt(action(x)) over [low, high].
template <typename Density, typename Action>
void Integrate(double low, double high, Density&& density, Action&& action, ActionBasis& sum) {
  static const Quadrature rule = GaussLegendre();
  if (!(high > low)) return;
  const double half = 0.5 * (high - low);
  const double middle = 0.5 * (high + low);
  for (int i = 0; i < kNodes; ++i) {
    const double x = middle + half * rule.node[i];
    const double mass = half * rule.weight[i] * density(x);
    const ActionBasis basis = BasisAt(action(x));
    for (size_t j = 0; j < kActionFunctions; ++j) sum[j] += mass * basis[j];
  }
}

/// The same over [low, high] cut at 0, where |a| has its kink.
template <typename Density, typename Action>
ActionBasis IntegrateAroundZero(double low, double high, Density&& density, Action&& action) {
  ActionBasis sum{};
  Integrate(low, std::min(high, 0.0), density, action, sum);
  Integrate(std::max(low, 0.0), high, density, action, sum);
  return sum;
}

double Kernel(double x) { return std::abs(x) < 1.0 ? 0.75 * (1.0 - x * x) : 0.0; }

/// Integral of the kernel from -1 to x.
double KernelBelow(double x) {
  x = std::clamp(x, -1.0, 1.0);
  return 0.25 * (2.0 + 3.0 * x - x * x * x);
}

double PointOf(const ActionLaw& law) {
  if (std::isnan(law.center)) {
    throw Error(ErrorCode::kBadInput,
                "ope.ImportanceWeight: a policy answered NaN; mend the policy");
  }
  return std::clamp(law.center, -1.0, 1.0);
}

}  // namespace

ActionBasis BasisAt(double action) { return {action, action * action, std::abs(action)}; }

double KernelMassInside(double center, double bandwidth) {
  return KernelBelow((1.0 - center) / bandwidth) - KernelBelow((-1.0 - center) / bandwidth);
}

bool UsesKernel(const ActionLaw& law, double p_zero) {
  return law.kind == ActionLaw::Kind::kPoint && (law.center != 0.0 || p_zero == 0.0);
}

double ImportanceWeight(const ActionLaw& law, double action, double p_zero, double bandwidth) {
  const bool zero_drawn = action == 0.0 && p_zero > 0.0;
  const bool point_mass = law.kind == ActionLaw::Kind::kPoint && !UsesKernel(law, p_zero);
  if (zero_drawn || point_mass) return zero_drawn && point_mass ? 1.0 / p_zero : 0.0;
  const double logged = 0.5 * (1.0 - p_zero);
  if (law.kind == ActionLaw::Kind::kPoint) {
    const double center = PointOf(law);
    return Kernel((action - center) / bandwidth) /
           (bandwidth * KernelMassInside(center, bandwidth) * logged);
  }
  if (law.kind == ActionLaw::Kind::kUniform) return 0.5 / logged;
  const double weight = std::exp(law.LogDensity(action)) / logged;
  if (!std::isfinite(weight)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("ope.ImportanceWeight: the density at action {} is {}; mend the policy",
                            action, weight * logged));
  }
  return weight;
}

ActionBasis ExpectedBasis(const ActionLaw& law, double p_zero, double bandwidth) {
  const auto identity = [](double a) { return a; };
  switch (law.kind) {
    case ActionLaw::Kind::kPoint: {
      const double center = PointOf(law);
      if (!UsesKernel(law, p_zero)) return BasisAt(center);
      const double scale = 1.0 / (bandwidth * KernelMassInside(center, bandwidth));
      return IntegrateAroundZero(
          std::max(-1.0, center - bandwidth), std::min(1.0, center + bandwidth),
          [&](double a) { return scale * Kernel((a - center) / bandwidth); }, identity);
    }
    case ActionLaw::Kind::kUniform:
      return {0.0, 1.0 / 3.0, 0.5};
    case ActionLaw::Kind::kTanhGaussian: {
      const double sigma = std::exp(law.log_std);
      const double scale = 1.0 / (sigma * std::sqrt(2.0 * std::numbers::pi));
      return IntegrateAroundZero(
          law.center - kTailSigmas * sigma, law.center + kTailSigmas * sigma,
          [&](double u) {
            const double x = (u - law.center) / sigma;
            return scale * std::exp(-0.5 * x * x);
          },
          [](double u) { return std::tanh(u); });
    }
  }
  return {};
}

ActionLaw AtMedian(const ActionLaw& law) {
  return {.kind = ActionLaw::Kind::kPoint, .center = law.Median(), .log_std = 0.0};
}

ActionLaw Tempered(const ActionLaw& law, double temperature) {
  ActionLaw result = law;
  if (law.kind == ActionLaw::Kind::kTanhGaussian) result.log_std += std::log(temperature);
  return result;
}

}  // namespace kernelx
