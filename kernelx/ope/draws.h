// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// From a dataset to what the estimators judge on: drawn rows, their propensities, and what really
// followed.
#pragma once

#include <cstdint>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/env/outcome.h"
#include "kernelx/env/reward.h"
#include "kernelx/ope/estimate_draws.h"

namespace kernelx {

/// Which drawn rows are judged.
enum class DrawScope : uint8_t {
  kIntentionToTreat,  ///< every draw, whether it took hold in time or not: what acting would do
  kInForce,           ///< draws that were in force at the next event (as treated)
};

struct CollectedDraws {
  LoggedDraws draws;           ///< rewards: total, then the terms of the reward; cluster: the task
  std::vector<uint32_t> rows;  ///< of the dataset, aligned with `draws`
  size_t group_draws = 0;      ///< draws of mode `group`, left out: the unit there is a window
  size_t short_ones = 0;       ///< left out: the task's recording ends before the decision does
};

/// The draws of mode `task` whose decision is recorded for all its `hold` events, with the logged
/// reward of each: outcome terms from the recording, action terms for the action logged. Features
/// are those a policy may see (all, where the dataset does not say).
/// Throws kBadInput when the dataset has no propensities or no such draw, saying what to do.
CollectedDraws CollectDraws(const Dataset& dataset, const Trajectories& trajectories,
                            const Reward& reward, int hold, DrawScope scope);

/// Columns of the features that the sidecar marks for policies; all columns without a sidecar.
std::vector<size_t> PolicyColumns(const Dataset& dataset);

}  // namespace kernelx
