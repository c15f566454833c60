// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The action's effect by kind of task, in a raw recording, real or simulated: what the simulator is
// held against.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/dataset/transition.h"

namespace kernelx {

/// Of a least-squares line; the error is clustered.
struct Slope {
  double slope = 0.0;
  double se = 0.0;
};

struct ActionEffect {
  std::string kind;
  DrawMode mode = DrawMode::kTask;
  size_t draws = 0;  ///< drawn and in force at the next event
  Slope wait;        ///< of ln(1 + wait us) at the next event
  Slope share;       ///< of ln((CPU us + 20) / (us + 100)) over five events
  Slope placebo;     ///< of ln(1 + wait us) before the draw
  /// Wait at the next event for actions below -0.6, -0.2, 0.2, 0.6 and above; NaN where none.
  std::array<double, 5> mean_wait_us{};
};

/// "periodic", "server", "messaging", "hog" for the command names of the bundled recordings and of
/// `MixedLoad`, else empty.
std::string_view KindOfCommand(std::string_view comm);

/// A row a kind and mode, where there are 100 draws or more. Clusters are tasks (mode task) or
/// command and window (mode group), so that a group's one draw counts once.
std::vector<ActionEffect> MeasureEffects(std::span<const RawTransition> rows);

}  // namespace kernelx
