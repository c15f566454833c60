// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/adam.h"

#include <algorithm>
#include <cmath>

#include "kernelx/nn/packet.h"

namespace kernelx {

template <typename T>
void Adam<T>::Step(std::span<T> parameters, std::span<const T> gradient, double learning_rate) {
  namespace ei = packet::ei;
  using packet::Load;
  using packet::Set;
  using packet::Store;
  ++steps_;
  const auto t = static_cast<double>(steps_);
  const auto b1 = Set(static_cast<T>(options_.beta1));
  const auto b2 = Set(static_cast<T>(options_.beta2));
  const auto c1 = Set(static_cast<T>(1.0 - options_.beta1));
  const auto c2 = Set(static_cast<T>(1.0 - options_.beta2));
  const auto rate = Set(static_cast<T>(learning_rate / (1.0 - std::pow(options_.beta1, t))));
  const auto unbias = Set(static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(options_.beta2, t))));
  const auto epsilon = Set(static_cast<T>(options_.epsilon));
  const auto step = [&](T* p, const T* gradient_at, T* m_at, T* v_at) {
    const auto g = Load(gradient_at);
    const auto m = ei::padd(ei::pmul(b1, Load(m_at)), ei::pmul(c1, g));
    const auto v = ei::padd(ei::pmul(b2, Load(v_at)), ei::pmul(c2, ei::pmul(g, g)));
    Store(m_at, m);
    Store(v_at, v);
    const auto scale = ei::padd(ei::pmul(unbias, ei::psqrt(v)), epsilon);
    Store(p, ei::psub(Load(p), ei::pdiv(ei::pmul(rate, m), scale)));
  };
  // A padded tail, so that every element goes through the same instructions (Eigen's vector and
  // scalar roots differ in the last digit).
  constexpr size_t kLanes = packet::kLanes<T>;
  const size_t whole = parameters.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    step(parameters.data() + i, gradient.data() + i, first_.data() + i, second_.data() + i);
  }
  if (whole == parameters.size()) return;
  T tail[4][kLanes] = {};
  const std::span<T> rest[] = {parameters.subspan(whole), std::span(first_).subspan(whole),
                               std::span(second_).subspan(whole)};
  for (size_t k = 0; k < 3; ++k) std::ranges::copy(rest[k], tail[k]);
  std::ranges::copy(gradient.subspan(whole), tail[3]);
  step(tail[0], tail[3], tail[1], tail[2]);
  for (size_t k = 0; k < 3; ++k) std::copy_n(tail[k], rest[k].size(), rest[k].begin());
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
