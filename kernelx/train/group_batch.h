// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What one update of GRPO collects and learns from. The members of a group share their first state,
// so the network runs once a state there and the G samples meet at its two outputs; from the second
// decision on every member is in a state of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernelx/policy/tanh_gaussian.h"

namespace kernelx {

/// Buffers for S groups of G members over T decisions. A column is a state the network sees, a
/// sample a decision. Resized for the largest update, then reused.
struct GroupBatch {
  size_t groups = 0;
  size_t group_size = 0;
  size_t horizon = 0;

  std::vector<float> inputs;            ///< encoded states: input_size x columns
  std::vector<TanhGaussian> old_law;    ///< a column: what the samples were drawn from
  std::vector<TanhGaussian> reference;  ///< a column: what KL is taken to

  std::vector<double> u;           ///< a sample: the action before the tanh
  std::vector<double> rewards;     ///< a sample
  std::vector<double> returns;     ///< a sample: discounted, from this decision on
  std::vector<double> advantages;  ///< a sample; 0 where not alive
  std::vector<uint8_t> alive;      ///< a sample: the member had not ended before it

  void Resize(size_t groups, size_t group_size, size_t horizon, size_t input_size);

  [[nodiscard]] size_t members() const { return groups * group_size; }
  [[nodiscard]] size_t samples() const { return horizon * members(); }
  [[nodiscard]] size_t columns() const { return groups + (horizon - 1) * members(); }

  /// First column of the states at decision `t`.
  [[nodiscard]] size_t FirstColumn(size_t t) const {
    return t == 0 ? 0 : groups + (t - 1) * members();
  }
  struct Samples {
    size_t first, count;
  };
  /// The samples drawn in the state of `column`.
  [[nodiscard]] Samples SamplesOf(size_t column) const {
    if (column < groups) return {column * group_size, group_size};
    return {members() + column - groups, 1};
  }
  /// Sample of member `m` (0 .. S * G - 1) at decision `t`.
  [[nodiscard]] size_t SampleAt(size_t t, size_t m) const { return t * members() + m; }

  /// returns[t] = rewards[t] + discount * returns[t + 1]; 0 after a member's end.
  void ComputeReturns(double discount);
};

}  // namespace kernelx
