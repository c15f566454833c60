// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace kernelx::bench {

inline double NowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Least seconds of some calls of `work`; what it returns is destroyed untimed. The least, because
/// a neighbour on the machine can only slow a run down; the Python side is taken likewise.
template <typename Work>
double BestSeconds(int repeats, Work&& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const double begin = NowSeconds();
    const auto result = work();
    best = std::min(best, NowSeconds() - begin);
  }
  return best;
}

/// Greatest calls a second over `repeats` stretches of `seconds` each.
template <typename Work>
double BestRate(int repeats, double seconds, Work&& work) {
  double best = 0.0;
  for (int i = 0; i < repeats; ++i) {
    const double begin = NowSeconds();
    double passed = 0.0;
    double calls = 0.0;
    for (; passed < seconds; passed = NowSeconds() - begin) {
      work();
      ++calls;
    }
    best = std::max(best, calls / passed);
  }
  return best;
}

}  // namespace kernelx::bench
