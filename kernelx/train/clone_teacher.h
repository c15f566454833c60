// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernelx/policy/mlp_policy.h"

namespace kernelx {

struct CloneOptions {
  uint64_t seed = 1;
  size_t epochs = 5;  ///< over the states; more when they make fewer steps than `min_steps`
  size_t min_steps = 2000;
  size_t batch = 256;
  double learning_rate_first = 1e-3;  ///< cosine
  double learning_rate_last = 1e-4;
  double std = 0.3;           ///< of the policy's law, everywhere, before the tanh
  double action_bound = 0.9;  ///< teachers' actions are clamped to it: atanh(1) is infinite
  unsigned threads = 1;
};

struct CloneReport {
  size_t trained_on = 0;
  size_t held_out = 0;
  size_t steps = 0;
  /// Mean |tanh mean - action| over held-out states (a tenth, by hash of the row); over all when
  /// there are fewer than ten. The teacher's action is the clamped one.
  double error = 0.0;
};

/// Behaviour cloning: maximises the likelihood of the teacher's actions with the standard deviation
/// held fixed. `states`: columns of `policy.state_size()` features, `actions`: one each. The policy
/// must be bound, and its normaliser set (`FitNormaliser`). Throws kUsage when the sizes disagree,
/// kBadInput for a state or action that is no number.
CloneReport CloneTeacher(MlpPolicy& policy, std::span<const double> states,
                         std::span<const double> actions, const CloneOptions& options = {});

}  // namespace kernelx
