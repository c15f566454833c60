// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Do the judge's intervals hold what they promise? On a simulated machine the truth can be had: the
// same task, at the same event, with another action, and all else as it was. Recordings made again
// and again are judged as real ones are, and it is counted how often the interval covers the truth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "kernelx/env/runqueue_load.h"
#include "kernelx/env/runqueue_recorder.h"
#include "kernelx/ope/bootstrap.h"
#include "kernelx/policy/policy.h"

namespace kernelx {

/// Where the tasks of a recording come from. A clustered interval speaks of tasks drawn from a
/// population, on a machine as busy as the one recorded: that is `kSample`. The others show what it
/// does elsewhere.
enum class CoverageDesign : uint8_t {
  /// 30 periodic and 30 server tasks, their parameters by lot, beside hogs and a crowd that are
  /// there and neither recorded nor acted on.
  kSample,
  /// `MixedLoad`: as many of every kind each time, all recorded. The interval takes the kinds for a
  /// sample that might have been another, so it is too wide for the value.
  kMix,
  /// As many tasks, the kind of each by lot: how busy the machine is changes from recording to
  /// recording, which no interval from within one recording can know.
  kMixByLot,
};

/// "sample", "mix", "mix-by-lot".
std::string_view CoverageDesignName(CoverageDesign design);

struct CoverageOptions {
  CoverageDesign design = CoverageDesign::kSample;
  size_t repetitions = 1000;  ///< recordings; every one has tasks of its own
  double seconds = 3.0;       ///< of each
  ExploreLaw law{.group_share = 0.0};
  int hold = 5;
  double spread = 0.5;         ///< standard deviation of the judged policy, before the tanh
  size_t truth_loads = 400;    ///< loads that the truth is averaged over
  double truth_seconds = 3.0;  ///< of each
  size_t truth_every = 20;     ///< of the draws, one in so many is followed
  uint64_t seed = 1;
  unsigned threads = 0;
};

/// How often an interval covered what it is of.
struct Covered {
  double truth = 0.0;
  double truth_se = 0.0;  ///< of the truth itself, by simulation; clustered by load
  double mean = 0.0;      ///< of the estimates
  double sd = 0.0;        ///< of the estimates
  double half_width = 0.0;
  size_t repetitions = 0;
  size_t covered = 0;
  [[nodiscard]] double rate() const {
    return repetitions == 0 ? 0.0 : static_cast<double>(covered) / static_cast<double>(repetitions);
  }
};

struct CoverageResult {
  Covered value;  ///< doubly robust: mean total of the policy
  Covered gain;   ///< doubly robust, paired: policy less logging policy
  /// Naive: logged outcomes as if they were the policy's, with its own action terms.
  Covered replay, replay_gain;
  double logging = 0.0;   ///< true value of the logging policy
  double roll_out = 0.0;  ///< mean total when every task follows the policy: another question
  double roll_out_se = 0.0;
  double rows = 0.0;    ///< judged draws a recording, mean
  double ess = 0.0;     ///< effective sample size, mean
  double events = 0.0;  ///< of tasks, a recording, mean
};

/// The `interactive` rule with a spread, so that it has a density: tanh(atanh(0.8 a) + spread z).
[[nodiscard]] std::unique_ptr<Policy> SoftInteractive(double spread);

/// `progress` is called after each recording with how many are done.
CoverageResult MeasureCoverage(const CoverageOptions& options,
                               const std::function<void(size_t)>& progress = {});

}  // namespace kernelx
