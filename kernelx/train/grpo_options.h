// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kernelx {

/// What a centred reward is divided by to become an advantage.
enum class AdvantageScale : uint8_t {
  kNone,   ///< 1
  kEma,    ///< a slow running average of `kBatch`: keeps the objective, and its scale steady
  kBatch,  ///< the standard deviation of all centred rewards of the update
  kGroup,  ///< that of the group (as TRL); with noisy rewards this is another objective
};

[[nodiscard]] const char* AdvantageScaleName(AdvantageScale scale);
/// Throws kUsage listing the names.
[[nodiscard]] AdvantageScale AdvantageScaleNamed(const std::string& name);

/// A stretch of the curriculum.
struct Phase {
  uint64_t updates = 2000;
  size_t horizon = 1;  ///< decisions in an episode; 1 is a contextual bandit
};

struct GrpoOptions {
  uint64_t seed = 1;
  size_t states = 256;     ///< S, groups an update
  size_t group_size = 16;  ///< G
  std::vector<Phase> phases = {Phase{}};
  double discount = 0.95;  ///< per decision, for horizons above 1

  AdvantageScale scale = AdvantageScale::kEma;
  /// Baseline from the other members only: centred rewards times G / (G - 1). Not with kGroup.
  bool leave_one_out = true;

  int epochs = 2;                ///< gradient steps an update
  double clip_low = 0.2;         ///< the ratio counts within 1 - clip_low ..
  double clip_high = 0.28;       ///< .. 1 + clip_high
  double kl_weight_first = 0.1;  ///< of KL(policy || reference), linear over the run
  double kl_weight_last = 0.1;
  double entropy_weight = 0.003;  ///< of the squashed law's entropy
  double kl_stop = 0.02;          ///< no further epoch when KL(old || new) exceeds this
  double gradient_clip = 0.5;
  double learning_rate_first = 1e-3;  ///< cosine over the run
  double learning_rate_last = 1e-4;

  /// 0: one a core. Does not change a result.
  unsigned threads = 1;

  /// Sum over the phases.
  [[nodiscard]] uint64_t total_updates() const;
  /// Of the phase update `update` falls in.
  [[nodiscard]] size_t HorizonAt(uint64_t update) const;
  [[nodiscard]] double LearningRateAt(uint64_t update) const;
  [[nodiscard]] double KlWeightAt(uint64_t update) const;

  /// Throws kUsage naming the first option that makes no sense.
  void Check() const;
  /// Every option that changes a result, as JSON text: provenance, and the guard of `Resume`.
  [[nodiscard]] std::string Describe() const;
};

}  // namespace kernelx
