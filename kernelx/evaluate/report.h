// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The report: one HTML file that needs no network, for people. Each plot has its figures as a table
// beside it. Not here: judging (evaluation.h), and what may be claimed, which the caller says.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernelx/evaluate/evaluation.h"
#include "kernelx/ope/certificate.h"

namespace kernelx {

/// One update of training. What was not measured is NaN.
struct TrainingPoint {
  size_t update = 0;
  double reward = 0.0;      ///< mean over the batch, in the training dynamics
  double reward_std = 0.0;  ///< within a group
  double kl = 0.0;
  double entropy = 0.0;
  double clip_fraction = 0.0;
  double grad_norm = 0.0;
  double learning_rate = 0.0;
  double validation = 0.0;  ///< gain over doing nothing, at held-out states, by the dynamics
};

struct ReportInputs {
  std::string title = {};
  std::string config_json = {};              ///< printed as it is when it does not parse
  const Certificate* certificate = nullptr;  ///< null: the section is left out
  const Evaluation* evaluation = nullptr;    ///< likewise
  std::vector<TrainingPoint> training = {};  ///< empty: likewise
  std::vector<std::string> shown = {};       ///< plain sentences, at the top
  std::vector<std::string> not_shown = {};
  std::string command = {};  ///< that makes this report again
};

/// The page. All text that comes from the inputs is escaped, command names included. The same
/// inputs give the same bytes.
std::string ReportHtml(const ReportInputs& inputs);

}  // namespace kernelx
