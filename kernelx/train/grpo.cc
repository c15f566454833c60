// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/grpo.h"

#include <algorithm>
#include <array>
#include <functional>

namespace kernelx {
namespace {

/// Columns [begin, end) of the batch, shifted by `first`, into a block.
void Fill(const GroupBatch& batch, size_t first, MlpBlock<float>& block, size_t begin, size_t end) {
  for (size_t c = begin; c < end; ++c) {
    const std::span<float> input = block.input(c - begin);
    std::copy_n(batch.inputs.data() + (first + c) * input.size(), input.size(), input.begin());
  }
}

GrpoColumn ColumnOf(const GroupBatch& batch, size_t column) {
  const auto [first, count] = batch.SamplesOf(column);
  return {.u = {batch.u.data() + first, count},
          .advantages = {batch.advantages.data() + first, count},
          .alive = {batch.alive.data() + first, count},
          .old_law = batch.old_law[column],
          .reference = batch.reference[column]};
}

}  // namespace

Grpo::Grpo(const GrpoOptions& options, Mlp<float> reference)
    : options_(options),
      reference_(std::move(reference)),
      pass_(reference_),
      adam_(reference_.parameters().size()),
      advantages_(options.scale, options.leave_one_out) {}

void Grpo::RestoreReference(std::span<const float> packed) {
  reference_.Modify([&](std::span<float> p) { std::ranges::copy(packed, p.begin()); });
}

void Grpo::ComputeLaws(const Mlp<float>& net, const GroupBatch& batch, size_t first, size_t last,
                       std::vector<TanhGaussian>& laws) {
  const auto fill = [&](MlpBlock<float>& block, size_t begin, size_t end) {
    Fill(batch, first, block, begin, end);
  };
  const auto read = [&](MlpBlock<float>& block, size_t begin, size_t end, size_t /*shard*/) {
    for (size_t c = begin; c < end; ++c) {
      const std::span<const float> o = block.output(c - begin);
      laws[first + c] = PolicyHead(o[0], o[1]).law;
    }
  };
  pass_.Evaluate(net, last - first, options_.threads, std::ref(fill), std::ref(read));
}

void Grpo::ComputeLaws(const Mlp<float>& net, GroupBatch& batch, size_t first, size_t last) {
  ComputeLaws(net, batch, first, last, batch.old_law);
  ComputeLaws(reference_, batch, first, last, batch.reference);
}

std::span<float> Grpo::Gradient(const Mlp<float>& net, const GroupBatch& batch,
                                const GrpoLossOptions& options, GrpoSums& sums) {
  std::array<GrpoSums, MlpGradient<float>::kShards> shard_sums{};
  const auto fill = [&](MlpBlock<float>& block, size_t begin, size_t end) {
    Fill(batch, 0, block, begin, end);
  };
  const auto loss = [&](MlpBlock<float>& block, size_t begin, size_t end, size_t shard) {
    for (size_t c = begin; c < end; ++c) {
      const std::span<const float> o = block.output(c - begin);
      const OutputGradient d = GrpoLoss(o[0], o[1], ColumnOf(batch, c), options, shard_sums[shard]);
      const std::span<float> gradient = block.output_gradient(c - begin);
      gradient[0] = static_cast<float>(d.o0);
      gradient[1] = static_cast<float>(d.o1);
    }
  };
  pass_.Run(net, batch.columns(), options_.threads, std::ref(fill), std::ref(loss));
  sums = {};
  for (const GrpoSums& part : shard_sums) sums += part;
  return pass_.gradient();
}

void Grpo::Learn(Mlp<float>& net, GroupBatch& batch, double learning_rate, double kl_weight,
                 UpdateMetrics& metrics) {
  batch.ComputeReturns(options_.discount);
  const auto summary = advantages_.Compute(batch);
  metrics.reward_std = summary.reward_std;
  metrics.frac_reward_zero_std = summary.zero_std_share;
  metrics.advantage_scale = summary.scale;

  const GrpoLossOptions loss{.clip_low = options_.clip_low,
                             .clip_high = options_.clip_high,
                             .kl_weight = kl_weight,
                             .entropy_weight = options_.entropy_weight,
                             .sample_weight = 1.0 / static_cast<double>(batch.samples())};
  GrpoSums total;
  double norms = 0.0;
  double clipped = 0.0;
  int steps = 0;
  for (int epoch = 0; epoch < options_.epochs; ++epoch) {
    GrpoSums sums;
    const std::span<float> gradient = Gradient(net, batch, loss, sums);
    metrics.policy_kl = sums.policy_kl / sums.samples;
    if (epoch > 0 && metrics.policy_kl > options_.kl_stop) break;
    const double norm = ClipNorm(gradient, options_.gradient_clip);
    norms += norm;
    clipped += norm > options_.gradient_clip ? 1.0 : 0.0;
    net.Modify([&](std::span<float> p) { adam_.Step(p, gradient, learning_rate); });
    total += sums;
    ++steps;
  }
  metrics.epochs = steps;
  metrics.samples = total.samples / steps;
  metrics.loss = total.loss / steps;
  metrics.grad_norm = norms / steps;
  metrics.grad_clipped = clipped / steps;
  metrics.clip_ratio_low = total.clipped_low / total.samples;
  metrics.clip_ratio_high = total.clipped_high / total.samples;
  metrics.clip_ratio = metrics.clip_ratio_low + metrics.clip_ratio_high;
  metrics.kl = total.kl / total.samples;
  metrics.entropy = total.entropy / total.samples;
  metrics.policy_std = total.std / total.samples;
}

}  // namespace kernelx
