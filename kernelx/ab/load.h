// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Built-in loads: groups of processes that measure themselves, so that every arm of an experiment
// is judged by the same clock at the same cost.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernelx/ground/histogram.h"

namespace kernelx {

enum class WorkKind : uint8_t {
  kPeriodic,   ///< wakes by timer every `period_us`, computes `work_us`; open loop
  kIrregular,  ///< the same with exponential pauses of that mean
  kEcho,       ///< a UDP server that computes `work_us` a request, and its open-loop client
  kMessaging,  ///< pairs that bounce a message 64 times, rest 1 to 21 ms, and begin again
  kHog,        ///< computes without end
  kBatch,      ///< computes 5 to 60 ms, sleeps 1 to 5 ms
  kFork,       ///< starts programs, one after the other
  kDisk,       ///< writes a megabyte and brings it to the disk
};

struct GroupSpec {
  std::string name = {};  ///< command name of its processes, at most 15 bytes
  WorkKind kind = WorkKind::kHog;
  int count = 1;  ///< of processes (kEcho: of server and client pairs)
  uint32_t period_us = 0;
  uint32_t work_us = 0;
  /// Judged by its latency; the others are guarded by their CPU time and completions.
  [[nodiscard]] bool latency() const {
    return kind == WorkKind::kPeriodic || kind == WorkKind::kIrregular || kind == WorkKind::kEcho;
  }
};

struct LoadSpec {
  std::string name = {};
  std::string what = {};  ///< one line
  std::vector<GroupSpec> groups = {};
};

[[nodiscard]] const std::vector<LoadSpec>& Loads();
/// Throws kUsage listing the names.
[[nodiscard]] const LoadSpec& FindLoad(const std::string& name);

/// What a group has done since it was started.
struct GroupSample {
  Histogram latency_us;  ///< from the intended start to the end of the work; latency groups only
  uint64_t completions = 0;
  uint64_t cpu_ns = 0;
};

/// The running load. All its processes are descendants of one, in the caller's session, and end
/// with this object or with the caller.
class Load {
 public:
  /// Throws kFile when a process cannot be started.
  Load(const LoadSpec& spec, uint64_t seed);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  [[nodiscard]] const LoadSpec& spec() const { return spec_; }
  [[nodiscard]] pid_t root() const { return root_; }
  [[nodiscard]] std::vector<pid_t> Pids(size_t group) const;
  /// A value a group, in the order of the spec.
  [[nodiscard]] std::vector<GroupSample> Sample() const;
  /// Whether every process still runs.
  [[nodiscard]] bool Whole() const;

 private:
  struct Shared;
  LoadSpec spec_;
  Shared* shared_ = nullptr;
  size_t slots_ = 0;
  pid_t root_ = -1;
};

}  // namespace kernelx
