// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Fitting a World Model to a dataset.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/world/world_model.h"

namespace kernelx {

struct WorldFitOptions {
  uint64_t seed = 0;
  size_t members = 5;
  std::vector<size_t> base_hidden = {96, 96};
  std::vector<size_t> effect_hidden = {64, 64};
  int rounds = 2;                   ///< of base and effect in turn
  int epochs = 10;                  ///< of the base, a round, at most
  size_t batch = 1024;              ///< rows a step of the base
  size_t rows_per_epoch = 131'072;  ///< at most; an epoch is a fresh lot of the member's rows
  int effect_epochs = 40;           ///< over the randomised rows, a round, at most
  int patience = 3;                 ///< epochs without improvement before the base stops
  int effect_patience = 8;
  double learning_rate = 2e-3;  ///< falls to a twentieth along a cosine
  double effect_decay = 0.01;   ///< weight decay of the effect
  unsigned threads = 0;         ///< does not change the result
  /// Members finished are kept here, and taken up from here when the data and the options are the
  /// same; empty: nowhere. Removed when all are done.
  std::string checkpoint;
};

/// A stage of the fit as it goes.
struct WorldFitProgress {
  size_t member = 0;
  size_t members = 0;
  int round = 0;
  bool effect = false;  ///< the second stage of a round
  int epoch = 0;
  int epochs = 0;
  double held_out = 0.0;  ///< mean negative log-likelihood of an event of held-out tasks
};

struct WorldFitReport {
  size_t rows = 0;             ///< events learnt from
  size_t randomised_rows = 0;  ///< of them drawn and in force: what `effect` is fitted on
  size_t tasks = 0;
  size_t dropped = 0;     ///< rows over which a counter ran backwards, or with no next event
  double overflow = 0.0;  ///< share of waits beyond the last bin
  double seconds = 0.0;
};

/// Fits base and effect of a member in turn, each with the other's outputs held fixed: the base to
/// all rows of a bootstrap of tasks, the effect to the randomised ones. A tenth of the tasks,
/// another for each member, is held out; each stage ends with a copy of the weights that did best
/// there. The result is a function of data, options and seed alone. Throws kBadInput for data
/// without the features or without rows.
WorldModel FitWorld(const Dataset& data, const WorldFitOptions& options,
                    const std::function<void(const WorldFitProgress&)>& progress = {},
                    WorldFitReport* report = nullptr);

/// A one-member model with the first base of `model` and an effect fitted anew to the randomised
/// rows of `data` as if their actions had been `actions` (one a row of the dataset): what a
/// recording with other actions would have taught. A shorter fit, without held-out tasks.
WorldModel RefitEffect(const WorldModel& model, const Dataset& data,
                       std::span<const double> actions, uint64_t seed, unsigned threads);

/// Who a row belongs to: pid and start time as one number.
uint64_t TaskKey(const Dataset& data, uint32_t row);

}  // namespace kernelx
