// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/adam.h"

#include <algorithm>
#include <cmath>

#include "kernelx/nn/eigen.h"

namespace kernelx {

template <typename T>
void Adam<T>::Step(std::span<T> parameters, std::span<const T> gradient, double learning_rate) {
  using Array = Eigen::Array<T, Eigen::Dynamic, 1>;
  const auto n = static_cast<Eigen::Index>(parameters.size());
  Eigen::Map<Array> p(parameters.data(), n);
  Eigen::Map<Array> m(first_.data(), n);
  Eigen::Map<Array> v(second_.data(), n);
  const Eigen::Map<const Array> g(gradient.data(), n);

  ++steps_;
  const auto t = static_cast<double>(steps_);
  const T b1 = static_cast<T>(options_.beta1);
  const T b2 = static_cast<T>(options_.beta2);
  const T step = static_cast<T>(learning_rate / (1.0 - std::pow(options_.beta1, t)));
  const T unbias = static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(options_.beta2, t)));
  const T epsilon = static_cast<T>(options_.epsilon);
  m = b1 * m + (T{1} - b1) * g;
  v = b2 * v + (T{1} - b2) * g.square();
  p -= step * m / (unbias * v.sqrt() + epsilon);
}

template <typename T>
void Adam<T>::Restore(uint64_t steps, std::span<const T> first, std::span<const T> second) {
  steps_ = steps;
  std::ranges::copy(first, first_.begin());
  std::ranges::copy(second, second_.begin());
}

template <typename T>
double ClipNorm(std::span<T> gradient, double limit) {
  // Eight sums in double: fixed order, and the adder is kept busy.
  double sum[8] = {};
  size_t i = 0;
  for (; i + 8 <= gradient.size(); i += 8) {
    for (size_t k = 0; k < 8; ++k) {
      const double g = gradient[i + k];
      sum[k] += g * g;
    }
  }
  for (; i < gradient.size(); ++i) sum[0] += double{gradient[i]} * gradient[i];
  double total = 0.0;
  for (const double s : sum) total += s;
  const double norm = std::sqrt(total);
  if (norm > limit) {
    const T scale = static_cast<T>(limit / norm);
    for (T& g : gradient) g *= scale;
  }
  return norm;
}

template class Adam<float>;
template class Adam<double>;
template double ClipNorm(std::span<float>, double);
template double ClipNorm(std::span<double>, double);

}  // namespace kernelx
