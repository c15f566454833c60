// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Simple predictors of the next wait, with honest laws: what a World Model has to beat.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/world/fit_data.h"
#include "kernelx/world/heads.h"

namespace kernelx {

/// The law of each judged row by one predictor.
struct Baseline {
  std::string name;
  std::vector<WaitLaw> laws;
};

/// Persistence, mean of the task so far, ridge regression on all inputs and both actions, and k
/// nearest neighbours (the k of 10, 30, 100, 300 that does best on the judged rows: a favour to
/// it). The point predictors' laws are those of their residuals on `train`. `task_mean`s are of
/// ln(1 + wait) over the task's events before the row.
std::vector<Baseline> FitBaselines(const FitData& train, std::span<const double> train_mean,
                                   std::span<const double> train_wait_us, const FitData& judged,
                                   std::span<const double> judged_mean,
                                   std::span<const double> judged_wait_us,
                                   std::span<const double> train_now,
                                   std::span<const double> judged_now, unsigned threads);

}  // namespace kernelx
