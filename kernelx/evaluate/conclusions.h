// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "kernelx/evaluate/evaluation.h"

namespace kernelx {

/// Plain sentences for the top of a report and the end of a run.
struct Conclusions {
  std::vector<std::string> shown;
  std::vector<std::string> not_shown;
};

/// What the comparison says of one policy: better than a baseline is what every estimator on logged
/// outcomes agrees on; everything else was not shown, and why.
Conclusions Conclude(const Evaluation& evaluation, const std::string& policy);

}  // namespace kernelx
