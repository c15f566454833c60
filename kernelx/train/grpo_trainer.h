// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The run: collect groups, learn, report, save. Same seed and environment, same weights, whatever
// the thread count and wherever the run was interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernelx/policy/mlp_policy.h"
#include "kernelx/train/group_batch.h"
#include "kernelx/train/group_env.h"
#include "kernelx/train/grpo.h"
#include "kernelx/train/grpo_options.h"
#include "kernelx/train/metrics.h"

namespace kernelx {

class GrpoTrainer {
 public:
  /// Trains a copy of `policy`, bound to the environment's features, whose network as it stands is
  /// the reference of KL. `env` must outlive the trainer. Throws kUsage for options that make no
  /// sense or a policy bound to another number of features.
  GrpoTrainer(MlpPolicy policy, GroupEnv& env, GrpoOptions options);

  [[nodiscard]] const MlpPolicy& policy() const { return policy_; }
  [[nodiscard]] const GrpoOptions& options() const { return options_; }
  /// Updates done.
  [[nodiscard]] uint64_t update() const { return update_; }
  [[nodiscard]] bool finished() const { return update_ >= options_.total_updates(); }

  /// One update. Throws kBadInput, with the policy as it was, when the environment returns a reward
  /// or observation that is no number: the message names update, decision, state and member.
  UpdateMetrics Update();

  /// Updates until finished, or until `after` returns false. `after` gets each update's metrics:
  /// the place to draw a progress bar, write a row, save a checkpoint.
  void Run(const std::function<bool(const UpdateMetrics&)>& after);

  /// Writes `folder`/policy.safetensors, fit for use, and training.safetensors, what it takes to go
  /// on: reference, Adam's moments, running scale, update and options.
  void Save(const std::string& folder) const;
  /// Continues bit for bit from what `Save` wrote. Throws kBadInput when the files do not belong
  /// together or to these options; the trainer is then as before.
  void Resume(const std::string& folder);

 private:
  void Collect(UpdateMetrics& metrics);
  void Encode(size_t decision, std::span<const double> observations);
  void Draw(size_t decision);
  void TakeRewards(size_t decision);

  MlpPolicy policy_;
  GroupEnv& env_;
  GrpoOptions options_;
  Grpo grpo_;
  GroupBatch batch_;
  uint64_t update_ = 0;
  // One decision of all members.
  std::vector<double> observations_;
  std::vector<double> actions_;
  std::vector<double> rewards_;
  std::vector<uint8_t> done_;
  std::vector<uint8_t> ended_;
};

}  // namespace kernelx
