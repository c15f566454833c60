// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/world/heads.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernelx/nn/vector_math.h"

namespace kernelx {
namespace {

constexpr size_t kWakeAt = kWaitBins;
constexpr size_t kGaussianAt = kWaitBins + kWakes;
constexpr double kLogVariance = 6.0;  // the log-variance is this times tanh(o / this) - kShift
constexpr double kShift = 2.0;
constexpr double kBound = 8.0;  // standardised targets beyond count as this far
constexpr double kMaxLog = 16.0;
/// Weights of the losses in the gradient.
constexpr double kGaussianWeight[kGaussians] = {1.0, 0.5, 0.2, 0.2, 0.2};

/// Softmax of n outputs in double.
template <typename T>
void Softmax(const T* out, size_t n, double* p) {
  double most = static_cast<double>(out[0]);
  for (size_t i = 1; i < n; ++i) most = std::max(most, static_cast<double>(out[i]));
  for (size_t i = 0; i < n; ++i) p[i] = static_cast<double>(out[i]) - most;
  ExpInPlace({p, n});
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) sum += p[i];
  for (size_t i = 0; i < n; ++i) p[i] /= sum;
}

/// Loss of a categorical head, and its gradient.
template <typename T>
double Categorical(const T* out, size_t n, size_t label, T* gradient, double scale) {
  double p[kWaitBins];
  Softmax(out, n, p);
  if (gradient != nullptr) {
    for (size_t i = 0; i < n; ++i) gradient[i] = static_cast<T>(scale * p[i]);
    gradient[label] -= static_cast<T>(scale);
  }
  return -std::log(std::max(p[label], 1e-300));
}

/// Inverse of the normal distribution function (Acklam), relative error below 1.2e-9.
double NormalQuantile(double u) {
  u = std::clamp(u, 1e-6, 1.0 - 1e-6);
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                          6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                          3.754408661907416e+00};
  const auto tail = [&](double p) {
    const double q = std::sqrt(-2.0 * std::log(p));
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1.0);
  };
  if (u < 0.02425) return tail(u);
  if (u > 1.0 - 0.02425) return -tail(1.0 - u);
  const double q = u - 0.5;
  const double r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1.0);
}

double LogVariance(double out) { return kLogVariance * std::tanh(out / kLogVariance) - kShift; }

/// Mean and standard deviation of Gaussian j in its own units.
std::pair<double, double> Gaussian(std::span<const float> out, const TargetScale& scale, size_t j) {
  const double mean = out[kGaussianAt + 2 * j];
  const double sd = std::exp(0.5 * LogVariance(out[kGaussianAt + 2 * j + 1]));
  return {scale.mean[j] + scale.sd[j] * mean, scale.sd[j] * sd};
}

double FromLog(double log) { return std::expm1(std::clamp(log, 0.0, kMaxLog)); }

void SetValues(const std::array<double, kGaussians>& value, TaskEvent& event) {
  event.exec_us = FromLog(value[0]);
  event.sleep_us = (1.0 - event.wake[0]) * FromLog(value[1]);
  event.util_change = value[2];
  event.runnable_avg_change = value[3];
  event.runnable_change = value[4];
}

}  // namespace

size_t WaitBins::Of(double wait_us) {
  const double y = std::log1p(wait_us);
  if (y < kLow) return 0;
  const auto bin = static_cast<size_t>((y - kLow) / kWidth);
  return std::min(1 + bin, kWaitBins - 1);
}

double WaitBins::LogWidth(size_t k) {
  static const double log_width = std::log(kWidth);
  return k == 0 ? 0.0 : log_width;
}

template <typename T>
HeadLoss EvaluateHeads(std::span<const T> out, const HeadTarget& target, std::span<T> gradient,
                       double scale) {
  T* g = gradient.empty() ? nullptr : gradient.data();
  HeadLoss loss;
  loss.wait =
      Categorical(out.data(), kWaitBins, target.bin, g, scale) + WaitBins::LogWidth(target.bin);
  loss.wake =
      Categorical(out.data() + kWakeAt, kWakes, target.wake, g ? g + kWakeAt : nullptr, scale);
  for (size_t j = 0; j < kGaussians; ++j) {
    const size_t at = kGaussianAt + 2 * j;
    if (g != nullptr) g[at] = g[at + 1] = T{0};
    if (j == 1 && target.wake == 0) continue;  // it did not sleep
    const double raw = static_cast<double>(out[at + 1]);
    const double variance = std::exp(LogVariance(raw));
    const double error = static_cast<double>(out[at]) - static_cast<double>(target.value[j]);
    const double square = error * error / variance;
    loss.gaussian[j] = 0.5 * (std::log(2.0 * std::numbers::pi * variance) + square);
    if (g == nullptr) continue;
    const double weight = scale * kGaussianWeight[j] * std::sqrt(variance);
    const double bend = std::tanh(raw / kLogVariance);
    g[at] = static_cast<T>(weight * error / variance);
    g[at + 1] = static_cast<T>(weight * 0.5 * (1.0 - square) * (1.0 - bend * bend));
  }
  return loss;
}

template HeadLoss EvaluateHeads<float>(std::span<const float>, const HeadTarget&, std::span<float>,
                                       double);
template HeadLoss EvaluateHeads<double>(std::span<const double>, const HeadTarget&,
                                        std::span<double>, double);

template <typename T>
void WaitProbabilities(std::span<const T> out, std::span<double, kWaitBins> p) {
  Softmax(out.data(), kWaitBins, p.data());
}
template void WaitProbabilities<float>(std::span<const float>, std::span<double, kWaitBins>);
template void WaitProbabilities<double>(std::span<const double>, std::span<double, kWaitBins>);

WaitLaw::WaitLaw(std::span<const double, kWaitBins> p) {
  std::ranges::copy(p, p_.begin());
  double sum = 0.0;
  for (size_t k = 0; k < kWaitBins; ++k) upper_[k] = sum += p_[k];
}

double WaitLaw::Quantile(double u) const {
  u *= upper_.back();
  if (u < upper_[0]) return 0.0;
  const auto k = std::min<size_t>(
      static_cast<size_t>(std::ranges::upper_bound(upper_, u) - upper_.begin()), kWaitBins - 1);
  const double within = p_[k] > 0.0 ? (u - (upper_[k] - p_[k])) / p_[k] : 0.0;
  return WaitBins::Edge(std::max<size_t>(k, 1)) + std::clamp(within, 0.0, 1.0) * WaitBins::kWidth;
}

double WaitLaw::Mean() const {
  double mean = 0.0;
  for (size_t k = 1; k < kWaitBins; ++k)
    mean += p_[k] * (WaitBins::Edge(k) + 0.5 * WaitBins::kWidth);
  return mean / upper_.back();
}

double WaitLaw::LogLoss(double wait_us) const {
  const size_t bin = WaitBins::Of(wait_us);
  return -std::log(std::max(p_[bin] / upper_.back(), 1e-300)) + WaitBins::LogWidth(bin);
}

double WaitLaw::Crps(double wait_us) const {
  const double y = wait_us <= 0.0 ? 0.0 : std::log1p(wait_us);
  // The square of a line from g to h over a length: (g^2 + g h + h^2) / 3 of it.
  const auto piece = [](double g, double h, double length) {
    return length * (g * g + g * h + h * h) / 3.0;
  };
  double sum = 0.0;
  const auto span = [&](double low, double high, double f_low, double f_high) {
    if (y <= low) {
      sum += piece(f_low - 1.0, f_high - 1.0, high - low);
    } else if (y >= high) {
      sum += piece(f_low, f_high, high - low);
    } else {
      const double f = f_low + (f_high - f_low) * (y - low) / (high - low);
      sum += piece(f_low, f, y - low) + piece(f - 1.0, f_high - 1.0, high - y);
    }
  };
  const double total = upper_.back();
  span(0.0, WaitBins::kLow, upper_[0] / total, upper_[0] / total);
  for (size_t k = 1; k < kWaitBins; ++k) {
    span(WaitBins::Edge(k), WaitBins::Edge(k) + WaitBins::kWidth, upper_[k - 1] / total,
         upper_[k] / total);
  }
  return sum;
}

std::array<double, kGaussians> GaussianValues(const TaskEvent& event) {
  return {std::log1p(event.exec_us), std::log1p(event.sleep_us), event.util_change,
          event.runnable_avg_change, event.runnable_change};
}

HeadTarget TargetOf(const TaskEvent& event, const TargetScale& scale) {
  HeadTarget target;
  target.bin = static_cast<uint8_t>(WaitBins::Of(event.wait_us));
  target.wake = static_cast<uint8_t>(std::ranges::max_element(event.wake) - event.wake.begin());
  const auto values = GaussianValues(event);
  for (size_t j = 0; j < kGaussians; ++j) {
    target.value[j] =
        static_cast<float>(std::clamp((values[j] - scale.mean[j]) / scale.sd[j], -kBound, kBound));
  }
  return target;
}

TaskEvent SampleEvent(std::span<const float> out, const TargetScale& scale,
                      std::span<const double, kEventUniforms> uniforms) {
  TaskEvent event;
  std::array<double, kWaitBins> p;
  WaitProbabilities(out, std::span<double, kWaitBins>(p));
  event.wait_us = std::expm1(WaitLaw(p).Quantile(uniforms[0]));
  double wake[kWakes];
  Softmax(out.data() + kWakeAt, kWakes, wake);
  size_t k = 0;
  for (double u = uniforms[1]; k + 1 < kWakes && u >= wake[k]; ++k) u -= wake[k];
  event.wake = {};
  event.wake[k] = 1.0;
  std::array<double, kGaussians> value;
  for (size_t j = 0; j < kGaussians; ++j) {
    const auto [mean, sd] = Gaussian(out, scale, j);
    value[j] = mean + sd * NormalQuantile(uniforms[2 + j]);
  }
  SetValues(value, event);
  return event;
}

TaskEvent MeanEvent(std::span<const float> out, const TargetScale& scale) {
  TaskEvent event;
  std::array<double, kWaitBins> p;
  WaitProbabilities(out, std::span<double, kWaitBins>(p));
  event.wait_us = std::expm1(WaitLaw(p).Mean());
  Softmax(out.data() + kWakeAt, kWakes, event.wake.data());
  std::array<double, kGaussians> value;
  for (size_t j = 0; j < kGaussians; ++j) value[j] = Gaussian(out, scale, j).first;
  SetValues(value, event);
  return event;
}

}  // namespace kernelx
