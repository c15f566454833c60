// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/policy/policy.h"

namespace kernelx::cli {

/// Policies to judge and, from the last policy file that knows it, the best constant on its
/// training data.
struct Candidates {
  std::vector<std::unique_ptr<Policy>> policies;
  std::optional<double> best_constant;
};
Candidates LoadCandidates(const std::vector<std::string>& names);

}  // namespace kernelx::cli
