// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/grpo_loss.h"

#include <algorithm>
#include <cmath>

#include "kernelx/nn/vector_math.h"

namespace kernelx {
namespace {

constexpr double kLogRatioBound = 20.0;
constexpr size_t kChunk = 64;

/// The clipped surrogate of up to kChunk samples.
void Surrogate(const TanhGaussian& law, const GrpoColumn& column, size_t begin, size_t count,
               const GrpoLossOptions& options, GrpoSums& sums, TanhGaussianValue& gradient) {
  const double precision = std::exp(-law.log_std);
  const double old_precision = std::exp(-column.old_law.log_std);
  double z[kChunk];
  double ratio[kChunk];
  for (size_t j = 0; j < count; ++j) {
    const double u = column.u[begin + j];
    const double old_z = (u - column.old_law.mean) * old_precision;
    z[j] = (u - law.mean) * precision;
    const double log_ratio =
        (-0.5 * z[j] * z[j] - law.log_std) - (-0.5 * old_z * old_z - column.old_law.log_std);
    ratio[j] = std::clamp(log_ratio, -kLogRatioBound, kLogRatioBound);
  }
  ExpInPlace({ratio, count});
  for (size_t j = 0; j < count; ++j) {
    if (column.alive[begin + j] == 0) continue;
    const double advantage = column.advantages[begin + j];
    const bool low = advantage < 0.0 && ratio[j] < 1.0 - options.clip_low;
    const bool high = advantage > 0.0 && ratio[j] > 1.0 + options.clip_high;
    sums.samples += 1.0;
    sums.clipped_low += low ? 1.0 : 0.0;
    sums.clipped_high += high ? 1.0 : 0.0;
    const double counted = low ? 1.0 - options.clip_low : high ? 1.0 + options.clip_high : ratio[j];
    gradient.value -= options.sample_weight * counted * advantage;
    if (low || high) continue;
    const double d_log_density = -options.sample_weight * ratio[j] * advantage;
    gradient.d_mean += d_log_density * z[j] * precision;
    gradient.d_log_std += d_log_density * (z[j] * z[j] - 1.0);
  }
}

}  // namespace

GrpoSums& GrpoSums::operator+=(const GrpoSums& other) {
  loss += other.loss;
  samples += other.samples;
  clipped_low += other.clipped_low;
  clipped_high += other.clipped_high;
  kl += other.kl;
  policy_kl += other.policy_kl;
  entropy += other.entropy;
  std += other.std;
  return *this;
}

OutputGradient GrpoLoss(double o0, double o1, const GrpoColumn& column,
                        const GrpoLossOptions& options, GrpoSums& sums) {
  const PolicyHead head(o0, o1);
  GrpoSums here;
  TanhGaussianValue total;
  for (size_t begin = 0; begin < column.u.size(); begin += kChunk) {
    const size_t count = std::min(kChunk, column.u.size() - begin);
    Surrogate(head.law, column, begin, count, options, here, total);
  }
  if (here.samples == 0.0) return {};

  const double weight = options.sample_weight * here.samples;
  const TanhGaussianValue kl = KullbackLeibler(head.law, column.reference);
  const TanhGaussianValue entropy = EntropyOf(head.law);
  const auto add = [&](const TanhGaussianValue& term, double by) {
    total.value += by * term.value;
    total.d_mean += by * term.d_mean;
    total.d_log_std += by * term.d_log_std;
  };
  add(kl, options.kl_weight * weight);
  add(entropy, -options.entropy_weight * weight);

  here.loss = total.value;
  here.kl = here.samples * kl.value;
  here.policy_kl = here.samples * KullbackLeibler(column.old_law, head.law).value;
  here.entropy = here.samples * entropy.value;
  here.std = here.samples * std::exp(head.law.log_std);
  sums += here;
  return {.o0 = total.d_mean * head.d_mean, .o1 = total.d_log_std * head.d_log_std};
}

}  // namespace kernelx
