// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// From the windows of an experiment to a verdict. Reads nothing but the windows, so that anyone can
// have it again from the file. The rules:
//
//  - The metric of a window is the geometric mean, over the latency groups, of the 99th percentile
//    of the latency.
//  - An arm is compared with another block by block: d = ln metric(arm) - ln metric(other). The
//  ratio
//    is exp(mean d); its 95 % interval comes from resampling blocks (pairs of neighbouring blocks
//    when the d are correlated by more than 0.2 from one block to the next).
//  - A guard is the CPU time, or the completions, of one other group: ratio of the sums to those of
//    the baseline, interval likewise. It holds at 0.97 or more; it is broken when the upper end of
//    its interval lies below 0.97.
//  - `better`: the whole interval below 1 against `default` and against `noop`, and every guard
//    holds. `worse`: the whole interval above 1 against `default`, or a guard broken. Else
//    `not shown`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/ab/load.h"

namespace kernelx {

/// One arm in one block: what was added during the window.
struct Window {
  size_t block = 0;
  std::string arm = {};
  double seconds = 0.0;
  std::vector<GroupSample> groups = {};  ///< in the order of the experiment's groups
};

struct Interval {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

struct Guard {
  std::string group;
  std::string what;  ///< `cpu` or `completions`
  Interval ratio;
  [[nodiscard]] bool holds() const;
  [[nodiscard]] bool broken() const;
};

enum class Verdict : uint8_t { kBetter, kWorse, kNotShown };
[[nodiscard]] const char* VerdictName(Verdict verdict);

struct ArmResult {
  std::string name;
  size_t blocks = 0;    ///< complete ones it was compared in
  double p50_us = 0.0;  ///< all windows together, geometric mean over the latency groups
  double p99_us = 0.0;
  Interval ratio;  ///< of p99 against `default`
  std::optional<Interval> against_noop = {};
  /// Mean of (log-gain - 0.8 x log-gain of the oracle), where an oracle ran; above 0: at least that
  /// share of what the oracle gains.
  std::optional<Interval> against_oracle = {};
  std::vector<Guard> guards = {};
  Verdict verdict = Verdict::kNotShown;
};

struct Judgement {
  std::vector<ArmResult> arms;  ///< without `default`
  /// sd of d of the arm `a/a`: the noise; and the change that would be seen in four of five
  /// experiments of this size.
  double noise_sd = 0.0;
  double detectable = 0.0;  ///< as a ratio above 1
};

inline constexpr const char* kBaselineArm = "default";
inline constexpr const char* kNoopArm = "noop";
inline constexpr const char* kOracleArm = "oracle";
inline constexpr const char* kSameArm = "a/a";
inline constexpr double kGuardRatio = 0.97;
inline constexpr double kOracleShare = 0.8;

/// Judges the complete blocks (those with a window of every arm). `seed` is the bootstrap's. Throws
/// kBadInput for fewer than two complete blocks, or windows that do not match `groups`.
[[nodiscard]] Judgement Judge(const std::vector<GroupSpec>& groups,
                              const std::vector<std::string>& arms,
                              const std::vector<Window>& windows, uint64_t seed);

/// Mean of `d` with its 95 % interval from 4000 resamples of blocks.
[[nodiscard]] Interval BlockBootstrap(const std::vector<double>& d, uint64_t seed);

/// ln of the geometric mean over latency groups of the q-quantile. A group without completions in
/// the window counts as if its latency were the window's length.
[[nodiscard]] double LogLatency(const std::vector<GroupSpec>& groups, const Window& window,
                                double q);

}  // namespace kernelx
