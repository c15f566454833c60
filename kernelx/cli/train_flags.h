// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kernelx/dataset/dataset.h"
#include "kernelx/train/run.h"

namespace kernelx::cli {

/// Training data: the train and val splits of a folder, or a file alone (then no validation).
struct TrainingData {
  Dataset train;
  Dataset validation;
};
TrainingData LoadTrainingData(const std::string& path, unsigned threads);

/// Runs with stage lines and a progress bar on stderr.
RunResult TrainWithProgress(const TrainingData& data, const RunOptions& options);

/// Defaults of `train`, which `demo` uses as they are.
RunOptions DefaultRunOptions();

}  // namespace kernelx::cli
