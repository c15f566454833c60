// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kernelx/ab/experiment.h"

namespace kernelx {

/// A self-contained page: ratios with their intervals, each window's p99 by arm, the guards.
[[nodiscard]] std::string AbReport(const Experiment& experiment, const Judgement& judgement);

}  // namespace kernelx
