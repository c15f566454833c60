// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace kernelx::bench {

/// The same work in plain Python, in the units of the rows.
struct SeedBaseline {
  double load_mb_s = 0.0;
  double load_rows_s = 0.0;
  double step_s = 0.0;
  double simulate_s = 0.0;
  double bytes_a_row = 0.0;  ///< resident
};

/// Runs `script` by python3 on a processed file, of which it loads `rows` (0: all), and waits.
/// Nothing, and `why`, when that does not work.
std::optional<SeedBaseline> RunSeedBaseline(const std::string& script, const std::string& data,
                                            size_t rows, double seconds, std::string& why);

}  // namespace kernelx::bench
