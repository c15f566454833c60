// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Who says what a task shall get, and who hears what it got. The loop between them (engine.h) is
// the same for `live`, which follows a policy, and `record --explore`, which draws by lot.
#pragma once

#include <optional>
#include <span>

#include "kernelx/record/event.h"
#include "kernelx/record/kxr.h"

namespace kernelx {

/// An action for the task of an event, and the law it came from.
struct Decision {
  double action = 0.0;
  bool drawn = false;  ///< by lot, with the law below
  uint8_t mode = 0;    ///< 0: a draw a task and event; 1: a draw a command name and window
  uint32_t window = 0;
  double p_draw = 0.0;
  double p_zero = 0.0;
};

class Decider {
 public:
  virtual ~Decider() = default;
  /// The action for the task of `event` from now on, or nothing: what stands goes on standing.
  /// `features` are those of the decider's feature set, `standing` the action in force now.
  virtual std::optional<Decision> Decide(const SchedEvent& event, std::span<const double> features,
                                         double standing) = 0;
};

/// Hears every nudge after it was tried, e.g. to record it.
class NudgeSink {
 public:
  virtual ~NudgeSink() = default;
  virtual void OnNudge(const NudgeRecord& nudge) = 0;
};

}  // namespace kernelx
