// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/advantage.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace kernelx {
namespace {

constexpr double kKeep = 0.99;     // of the running scale, an update
constexpr double kFloor = 1e-4;    // of any scale; what TRL adds to the group's
constexpr double kZeroStd = 1e-3;  // of the running scale

/// Subtracts the mean; returns the sum of squares left. Taken from the first value on, so that
/// equal values leave exact zeros and a common offset costs no digits.
double Centre(std::span<const double> returns, std::span<double> centred) {
  const double first = returns.front();
  double mean = 0.0;
  for (const double r : returns) mean += r - first;
  mean /= static_cast<double>(returns.size());
  double squares = 0.0;
  for (size_t j = 0; j < returns.size(); ++j) {
    centred[j] = (returns[j] - first) - mean;
    squares += centred[j] * centred[j];
  }
  return squares;
}

}  // namespace

AdvantageEstimator::Summary AdvantageEstimator::Compute(GroupBatch& batch) {
  const size_t g = batch.group_size;
  const size_t sets = batch.samples() / g;  // a group at a decision
  const auto n = static_cast<double>(g);
  double total = 0.0;
  for (size_t k = 0; k < sets; ++k) {
    total += Centre({batch.returns.data() + k * g, g}, {batch.advantages.data() + k * g, g});
  }
  const double deviation = std::sqrt(total / static_cast<double>(batch.samples()));
  running_ = running_ == 0.0 ? deviation : kKeep * running_ + (1.0 - kKeep) * deviation;

  double divisor = 1.0;
  if (scale_ == AdvantageScale::kEma) divisor = std::max(running_, kFloor);
  if (scale_ == AdvantageScale::kBatch) divisor = deviation + kFloor;
  const bool grouped = scale_ == AdvantageScale::kGroup;
  const double correction = leave_one_out_ && !grouped ? n / (n - 1.0) : 1.0;
  Summary summary{.scale = grouped ? 0.0 : divisor};
  for (size_t k = 0; k < sets; ++k) {
    const std::span<double> a(batch.advantages.data() + k * g, g);
    double squares = 0.0;
    for (const double x : a) squares += x * x;
    const double std = std::sqrt(squares / (n - 1.0));  // Bessel, as TRL
    if (grouped) {
      divisor = std + kFloor;
      summary.scale += divisor / static_cast<double>(sets);
    }
    for (double& x : a) x = x * correction / divisor;
    summary.reward_std += std / static_cast<double>(sets);
    if (std <= kZeroStd * running_) summary.zero_std_share += 1.0 / static_cast<double>(sets);
  }
  for (size_t s = 0; s < batch.samples(); ++s) {
    if (batch.alive[s] == 0) batch.advantages[s] = 0.0;
  }
  return summary;
}

}  // namespace kernelx
