// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The mathematics of GRPO: from a filled batch to a changed policy. It neither talks to an
// environment nor knows where it is in a run (grpo_trainer.h does).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernelx/nn/adam.h"
#include "kernelx/policy/mlp_policy.h"
#include "kernelx/train/advantage.h"
#include "kernelx/train/group_batch.h"
#include "kernelx/train/grpo_loss.h"
#include "kernelx/train/grpo_options.h"
#include "kernelx/train/metrics.h"

namespace kernelx {

class Grpo {
 public:
  /// `reference`: the network KL is taken to; the policy's shape.
  Grpo(const GrpoOptions& options, Mlp<float> reference);

  /// Fills `old_law` of columns [first, last) of `batch` with the laws of `net`, and `reference`
  /// with those of the reference.
  void ComputeLaws(const Mlp<float>& net, GroupBatch& batch, size_t first, size_t last);

  /// Up to `options.epochs` steps on a batch with laws, samples and rewards. Fills the metrics it
  /// knows.
  void Learn(Mlp<float>& net, GroupBatch& batch, double learning_rate, double kl_weight,
             UpdateMetrics& metrics);

  /// The gradient of the loss at `net`, in the packed layout; `sums` gets what it is made of.
  std::span<float> Gradient(const Mlp<float>& net, const GroupBatch& batch,
                            const GrpoLossOptions& options, GrpoSums& sums);

  [[nodiscard]] const Mlp<float>& reference() const { return reference_; }

  // What a checkpoint holds beside the network.
  [[nodiscard]] const Adam<float>& adam() const { return adam_; }
  [[nodiscard]] Adam<float>& adam() { return adam_; }
  [[nodiscard]] const AdvantageEstimator& advantages() const { return advantages_; }
  [[nodiscard]] AdvantageEstimator& advantages() { return advantages_; }
  void RestoreReference(std::span<const float> packed);

 private:
  void ComputeLaws(const Mlp<float>& net, const GroupBatch& batch, size_t first, size_t last,
                   std::vector<TanhGaussian>& laws);

  GrpoOptions options_;
  Mlp<float> reference_;
  MlpGradient<float> pass_;
  Adam<float> adam_;
  AdvantageEstimator advantages_;
};

}  // namespace kernelx
