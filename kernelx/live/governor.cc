// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/live/governor.h"

#include <algorithm>
#include <cmath>

namespace kernelx {

bool Governor::MayTouch(const SchedEvent& event) const {
  return event.fair() && event.state.pid > 1 && event.state.features[kSlotTgid] != 1 &&
         std::find(options_.spared.begin(), options_.spared.end(), event.name()) ==
             options_.spared.end();
}

double Governor::Bound(double action) const {
  return std::clamp(action, -options_.most_boost, options_.most_demote);
}

Ruling Governor::Rule(const Decision& decision, double standing, uint64_t changed_ns,
                      uint64_t now_ns) {
  if (!decision.drawn) {
    const double change = std::abs(decision.action - standing);
    const bool back_to_own = decision.action == 0.0 && standing != 0.0;
    if (change == 0.0 || (change < options_.dead_band && !back_to_own)) return Ruling::kSmall;
    if (changed_ns != 0 && now_ns < changed_ns + options_.rest_ns) return Ruling::kRest;
  }
  const uint64_t second = now_ns / 1'000'000'000;
  if (second != second_) {
    second_ = second;
    nudges_this_second_ = 0;
  }
  if (nudges_this_second_ >= options_.nudges_per_s) return Ruling::kRest;
  ++nudges_this_second_;
  return Ruling::kAct;
}

}  // namespace kernelx
