// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Does a knob move anything on this host? Tried on two processes made for it, before any other task
// is touched.
#pragma once

#include <string>

namespace kernelx {

struct ProbeResult {
  bool nice_written = false;  ///< set, and reads back
  double nice_share = 0.5;    ///< CPU share of a task at nice +5 beside one at 0; 0.25 by weight
  bool slice_written = false;
  [[nodiscard]] bool nice_acts() const { return nice_written && nice_share < 0.4; }
  [[nodiscard]] std::string Text() const;
};

/// Runs two busy processes on one CPU for 0.2 s. Throws kFile when they cannot be started.
ProbeResult ProbeKnobs();

/// Whether sessions are groups of their own for the fair class: nice then acts only inside each.
[[nodiscard]] bool AutogroupEnabled();

/// Gives up every capability but those needed to go on (CAP_SYS_NICE, CAP_BPF). False when the
/// kernel refused.
bool DropCapabilities();

}  // namespace kernelx
