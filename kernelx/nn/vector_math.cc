// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/vector_math.h"

#include <algorithm>

#include "kernelx/nn/packet.h"

namespace kernelx {
namespace {

template <typename T, typename Op>
void Apply(std::span<T> x, const Op& op) {
  constexpr size_t kLanes = packet::kLanes<T>;
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    packet::Store(x.data() + i, op(packet::Load(x.data() + i)));
  }
  if (i == x.size()) return;
  T tail[kLanes];
  std::fill(std::begin(tail), std::end(tail), T{1});
  std::copy(x.begin() + i, x.end(), tail);
  packet::Store(tail, op(packet::Load(tail)));
  std::copy_n(tail, x.size() - i, x.begin() + i);
}

}  // namespace

void TanhInPlace(std::span<float> x) {
  Apply(x, [](const auto& v) { return packet::Tanh(v); });
}
void TanhInPlace(std::span<double> x) {
  Apply(x, [](const auto& v) { return packet::Tanh(v); });
}
void ExpInPlace(std::span<double> x) {
  Apply(x, [](const auto& v) { return Eigen::internal::pexp(v); });
}
void LogInPlace(std::span<double> x) {
  Apply(x, [](const auto& v) { return Eigen::internal::plog(v); });
}

}  // namespace kernelx
