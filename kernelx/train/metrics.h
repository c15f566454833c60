// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace kernelx {

/// What one update of GRPO reports. Names and meanings stand in `MetricTable`; there is no time in
/// it, so that the same seed writes the same bytes.
struct UpdateMetrics {
  double update = 0;
  double horizon = 0;
  double samples = 0;
  double reward = 0;
  double reward_std = 0;
  double frac_reward_zero_std = 0;
  double advantage_scale = 0;
  double loss = 0;
  double clip_ratio_low = 0;
  double clip_ratio_high = 0;
  double clip_ratio = 0;
  double kl = 0;
  double policy_kl = 0;
  double entropy = 0;
  double policy_std = 0;
  double action_mean = 0;
  double action_saturated = 0;
  double grad_norm = 0;
  double grad_clipped = 0;
  double learning_rate = 0;
  double kl_weight = 0;
  double epochs = 0;
};

struct Metric {
  const char* name;     ///< as TRL calls it, where TRL has it
  const char* meaning;  ///< one sentence
  double UpdateMetrics::*field;
};

/// Every metric once, in the order of the CSV columns.
[[nodiscard]] std::span<const Metric> MetricTable();

/// `metrics.csv`: a header, then a row an update, flushed as it comes.
class MetricsCsv {
 public:
  /// A new file; or, when `first_update` > 0 (a resumed run), the old one cut back to the rows
  /// before that update. Throws kFile when it cannot be written, kBadInput when the old file has
  /// other columns.
  explicit MetricsCsv(const std::string& path, uint64_t first_update = 0);

  /// Throws kFile when the disk is full.
  void Write(const UpdateMetrics& metrics);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace kernelx
