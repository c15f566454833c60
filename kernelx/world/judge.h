// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Does a World Model deserve to be used? Its next waits against simple predictors on rows it never
// saw, its intervals, and its effect of the action against the recording's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/world/world_model.h"

namespace kernelx {

struct JudgeOptions {
  size_t judged_rows = 6000;      ///< at most, by lot
  size_t baseline_rows = 40'000;  ///< the baselines are fitted on, at most, by lot
  uint64_t seed = 0;
  unsigned threads = 0;
};

/// A value with a 95 % interval, clustered by task.
struct Measured {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// How one predictor did on ln(1 + next wait us).
struct PredictorScore {
  std::string name;
  double nll = 0.0;  ///< of the density over ln(1 + us)
  double crps = 0.0;
  double mae = 0.0;   ///< of the median
  Measured nll_gain;  ///< what the World Model saves against this one; 0 for itself
  Measured crps_gain;
};

/// Rows of one kind: all judged, or those of tasks the model did not learn from.
struct PredictionReport {
  std::string rows_name;
  size_t rows = 0, tasks = 0;
  std::vector<PredictorScore> scores = {};            ///< the World Model first
  Measured cover50 = {}, cover80 = {}, cover95 = {};  ///< of its central intervals
  double p99_exceeded = 0.0;                          ///< share of waits beyond its 99 % quantile
};

/// Mean of an outcome among the draws of one command near one action.
struct EffectCell {
  std::string comm;
  double action = 0.0;
  size_t rows = 0, tasks = 0;
  double model = 0.0;
  Measured data = {};
  [[nodiscard]] bool judged() const { return tasks >= 20; }
  [[nodiscard]] bool inside() const { return model >= data.low && model <= data.high; }
};

/// Slope of an outcome in the action among the draws of one command.
struct EffectSlope {
  std::string comm;
  size_t rows = 0, tasks = 0;
  double model = 0.0;
  Measured data = {};
  [[nodiscard]] bool significant() const { return data.low > 0.0 || data.high < 0.0; }
  [[nodiscard]] bool sign_right() const { return model * data.value > 0.0; }
};

struct EffectReport {
  std::string outcome;
  std::vector<EffectCell> cells = {};
  std::vector<EffectSlope> slopes = {};  ///< the first of all commands together
};

struct WorldReport {
  std::vector<PredictionReport> prediction;
  std::vector<EffectReport> effects;  ///< ln(1 + wait) after one event, ln CPU share over five
  EffectSlope placebo;                ///< of the wait before the draw; no model
};

/// Judges on `judged`, with baselines fitted on `train`, which is also what tells seen tasks from
/// unseen ones.
WorldReport JudgeWorld(const WorldModel& model, const Dataset& train, const Dataset& judged,
                       const JudgeOptions& options = {});

/// Rates of one core on one member's forward pass, in 10^9 operations a second: ours (the whole
/// pass, activations included), and Eigen's matrix product on the same shapes.
struct ForwardRate {
  double ours = 0.0;
  double sgemm = 0.0;
};
ForwardRate MeasureForward(const WorldModel& model);

}  // namespace kernelx
