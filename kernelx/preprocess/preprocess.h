// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Raw recordings in, a folder of processed splits out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/dataset/reader.h"
#include "kernelx/preprocess/feature_set.h"

namespace kernelx {

struct PreprocessReport {
  size_t rows = 0;
  size_t tasks = 0;
  size_t train = 0;
  size_t validation = 0;
  size_t test = 0;
  size_t embargoed = 0;  ///< rows across a cut of the split, left out
  size_t chains = 0;     ///< runs of consecutive transitions of one task
  ReadReport read;
  std::vector<std::string> warnings;
};

/// Computes the features of one recording and returns its rows in order of time. `source` goes into
/// the dataset's provenance. Deterministic; takes rows in any order.
Dataset ExtractFeatures(std::span<const RawTransition> rows, const FeatureSet& set,
                        const std::string& source);

/// Writes `train.jsonl`, `val.jsonl`, `test.jsonl` and `features.json` (the set, with mean and sd
/// of the training rows) into `folder`, which is made when missing. Each recording is split by time
/// on its own and the parts are put together. All four files appear at the end or none does.
PreprocessReport Preprocess(const std::vector<std::string>& recordings, const FeatureSet& set,
                            const std::string& folder, const ReadOptions& options);

}  // namespace kernelx
