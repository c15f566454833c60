// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// A training run, from a dataset to a run folder: certificate, warm start, GRPO, checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/env/reward.h"
#include "kernelx/ope/certificate.h"
#include "kernelx/train/clone_teacher.h"
#include "kernelx/train/grpo_options.h"
#include "kernelx/train/metrics.h"

namespace kernelx {

struct RunOptions {
  std::string out;  ///< the run folder; made when missing
  std::string dynamics = "nearest";
  std::string reward = "balanced";
  RewardOptions reward_options;
  int hold = 0;                         ///< 0: as `ScenarioOptions`
  std::string teacher = "interactive";  ///< imitated first; the reference of KL
  std::vector<size_t> hidden = {64, 64};
  GrpoOptions grpo;
  bool allow_action_blind = false;
  bool resume = false;              ///< go on from the folder's last checkpoint
  uint64_t checkpoint_every = 100;  ///< updates
  uint64_t validate_every = 10;
  unsigned threads = 0;
  std::string command;  ///< for provenance
};

/// What a run reports while it goes. Either may be empty.
struct RunCallbacks {
  std::function<void(const std::string& stage)> stage;  ///< "certificate", "warm start", ...
  std::function<void(const UpdateMetrics&, uint64_t total)> update;
};

/// One point of the learning curve.
struct CurvePoint {
  UpdateMetrics metrics;
  /// Gain of the policy's median action over doing nothing, at fixed held-out states, by the
  /// training dynamics; NaN where not measured.
  double validation = 0.0;
};

struct RunResult {
  Certificate certificate;
  CloneReport warm_start;
  double best_constant = 0.0;  ///< on the training draws, by doubly robust estimate
  bool best_constant_known = false;
  std::vector<CurvePoint> curve;
  std::string policy_path;
};

/// Trains on `train`; `validation` may be empty. Writes config.json, metrics.csv,
/// policy.safetensors and checkpoints/ into the run folder. Throws kUsage when the certificate does
/// not say `acts` (unless allowed), naming the verdict and what to do.
RunResult TrainRun(const Dataset& train, const Dataset& validation, const RunOptions& options,
                   const RunCallbacks& callbacks = {});

}  // namespace kernelx
