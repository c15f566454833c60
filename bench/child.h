// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace kernelx::bench {

/// Runs a program found on the path, waits, and returns what it printed. `status`: its exit code,
/// or -1 when it could not be started or was killed.
std::string RunChild(std::vector<std::string> command, int& status);

}  // namespace kernelx::bench
