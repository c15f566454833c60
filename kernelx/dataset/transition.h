// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The raw transition: two consecutive switch-ins of one task and the action between them, as the
// recorder saw them. Integers stay 64-bit integers here; nothing has passed through a double.
#pragma once

#include <cstdint>
#include <string>

#include "kernelx/record/event.h"

namespace kernelx {

enum class DrawMode : uint8_t {
  kTask = 0,   ///< a draw a task and event
  kGroup = 1,  ///< a draw a command name and window
};

/// How the action of a row came about.
struct Behavior {
  bool known = false;  ///< the recording says; false for the seed's files
  bool drawn = false;  ///< set at random at `state_t`
  DrawMode mode = DrawMode::kTask;
  uint32_t window = 0;
  double p_draw = 0.0;  ///< probability of a draw at an event
  double p_zero = 0.0;  ///< probability that a draw is exactly 0; else Uniform(-1, 1)
};

/// What was read back from the kernel after the action was set.
struct Applied {
  bool known = false;
  bool in_force = false;  ///< seen in the task at its next event
  int32_t nice = 0;
  uint64_t slice_ns = 0;
  uint64_t at_ns = 0;  ///< CLOCK_MONOTONIC
};

struct RawTransition {
  RawState state;
  RawState next;
  double action = 0.0;
  int64_t reward = 0;  ///< wait(state) - wait(next), us
  Behavior behavior;
  Applied applied;
  std::string comm;  ///< empty where not recorded
};

}  // namespace kernelx
