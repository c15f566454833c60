// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernelx/nn/aligned.h"

namespace kernelx {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-5;  ///< added outside the root
};

/// Adam (Kingma and Ba), bias-corrected. The state is plain data so that a checkpoint can hold it.
template <typename T>
class Adam {
 public:
  explicit Adam(size_t parameters, AdamOptions options = {})
      : options_(options), first_(parameters, T{0}), second_(parameters, T{0}) {}

  /// One step downhill along `gradient`.
  void Step(std::span<T> parameters, std::span<const T> gradient, double learning_rate);

  [[nodiscard]] uint64_t steps() const { return steps_; }
  [[nodiscard]] std::span<const T> first_moment() const { return first_; }
  [[nodiscard]] std::span<const T> second_moment() const { return second_; }
  /// Takes up where a checkpoint left off.
  void Restore(uint64_t steps, std::span<const T> first, std::span<const T> second);

 private:
  AdamOptions options_;
  uint64_t steps_ = 0;
  AlignedVector<T> first_;
  AlignedVector<T> second_;
};

/// Scales `gradient` so that its Euclidean norm is at most `limit`; returns the norm before.
template <typename T>
double ClipNorm(std::span<T> gradient, double limit);

extern template class Adam<float>;
extern template class Adam<double>;
extern template double ClipNorm(std::span<float>, double);
extern template double ClipNorm(std::span<double>, double);

}  // namespace kernelx
