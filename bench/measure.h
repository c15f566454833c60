// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The measurements, a function a room. Each appends its rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/data.h"
#include "bench/seed_baseline.h"

namespace kernelx::bench {

/// What all measurements share.
struct Session {
  int repeats = 5;
  double seconds = 0.5;  ///< of each repeat
  std::optional<SeedBaseline> baseline;
  std::string no_baseline;  ///< why there is none
  std::vector<BenchRow> rows = {};

  /// Appends a row with what plain Python did (`seed`, where a baseline was taken) beside it.
  /// `ratio` is how many times greater `value` is, or smaller with `smaller_is_better`.
  BenchRow& Compare(BenchRow row, double SeedBaseline::*seed, double unit,
                    bool smaller_is_better = false);
};

/// Load, re-open, memory. Returns the rows of the seed's file, re-opened.
Dataset MeasureDataset(const BenchData& data, Session& session);
void MeasureSteps(const Dataset& seed, const Dataset& extended, Session& session);
void MeasureSimulate(const Dataset& seed, Session& session);
void MeasureDecision(const Dataset& extended, Session& session);
void MeasureGrpo(const Dataset& extended, Session& session);
void MeasureWorld(Session& session);
/// What does not exist yet, or needs what this machine lacks.
void ListUnmeasured(Session& session);

}  // namespace kernelx::bench
