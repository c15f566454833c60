// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernelx/policy/policy.h"

namespace kernelx {

/// A policy from what a user writes: a built-in name (`none`, `random`, `heuristic`,
/// `interactive`, `constant:X` with X in [-1, 1]) or the path of a policy file, which ends in
/// .safetensors. Throws kUsage listing the names for anything else, kFile and kBadInput for a file
/// that cannot be read. The policy still has to be bound.
[[nodiscard]] std::unique_ptr<Policy> MakePolicy(const std::string& name_or_path);

/// The built-in names, for help texts; a name with a parameter reads `constant:X`.
[[nodiscard]] const std::vector<std::string>& PolicyNames();

}  // namespace kernelx
