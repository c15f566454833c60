// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Who may be touched, how far and how often. Knows no system call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/live/decider.h"
#include "kernelx/record/event.h"

namespace kernelx {

struct GovernorOptions {
  double most_boost = 1.0;   ///< actions below -most_boost are taken as that
  double most_demote = 1.0;  ///< actions above it likewise
  double dead_band = 0.15;   ///< a change of action smaller than this is no reason to act
  /// A task's action changes at most once in this time, and all tasks' together at most
  /// `nudges_per_s`.
  uint64_t rest_ns = 20'000'000;
  uint32_t nudges_per_s = 20'000;
  /// A nudge is taken back when its task was not seen for this long.
  uint64_t ttl_ns = 10'000'000'000;
  std::vector<std::string> spared = {};  ///< command names never touched
};

/// What to do about a decision.
enum class Ruling : uint8_t {
  kAct,
  kSpared,  ///< no task of ours to touch
  kSmall,   ///< within the dead band of what stands
  kRest,    ///< too soon after the last change
};

class Governor {
 public:
  explicit Governor(GovernorOptions options) : options_(std::move(options)) {}
  [[nodiscard]] const GovernorOptions& options() const { return options_; }

  /// Whether the task may be touched at all: a fair task, not pid 1, not of the spared.
  [[nodiscard]] bool MayTouch(const SchedEvent& event) const;
  /// The action within the bounds.
  [[nodiscard]] double Bound(double action) const;
  /// Rules on changing a task from `standing` (last changed at `changed_ns`) to `decision` now. A
  /// draw passes the dead band and the rest: its odds are logged, and must be those that act.
  Ruling Rule(const Decision& decision, double standing, uint64_t changed_ns, uint64_t now_ns);

 private:
  GovernorOptions options_;
  uint64_t second_ = 0;
  uint32_t nudges_this_second_ = 0;
};

}  // namespace kernelx
