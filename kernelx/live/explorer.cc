// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/live/explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr double kGroupsDrawnAroundPolicy = 1.0 / 3.0;

double DrawAction(Rng& rng, double p_zero) {
  const double lot = rng.Uniform();
  const double action = rng.Uniform(-1.0, 1.0);
  return lot < p_zero ? 0.0 : action;
}

}  // namespace

Explorer::Explorer(const ExploreOptions& options) : options_(options), rng_(options.seed, 1) {
  const auto share = [](double p) { return p >= 0.0 && p <= 1.0; };
  if (!share(options.p_draw) || !share(options.p_zero)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("explore: probabilities {} and {}; both must lie in 0 .. 1",
                            options.p_draw, options.p_zero));
  }
  if (!options.policy.empty()) policy_.emplace(options.policy);
}

const FeatureSet& Explorer::features() const {
  return policy_ ? policy_->features() : FeatureSet::Extended();
}

bool Explorer::NeedsValues(const Standing& standing, uint64_t now_ns) const {
  return policy_ && policy_->NeedsValues(standing, now_ns);
}

std::optional<Decision> Explorer::Decide(const SchedEvent& event, std::span<const double> values,
                                         const Standing& standing) {
  const uint64_t now_ns = event.state.timestamp_ns;
  if (begin_ns_ == 0) begin_ns_ = now_ns;
  // An event that entered the ring a little late belongs to the window that has begun.
  const auto window =
      static_cast<uint32_t>((std::max(now_ns, begin_ns_) - begin_ns_) / options_.window_ns);
  Decision decision{.mode = static_cast<uint8_t>(Rng(options_.seed, MixSeed(2, window)).Below(2)),
                    .window = window,
                    .p_draw = options_.p_draw,
                    .p_zero = options_.p_zero};
  if (decision.mode == 0) {
    decision.drawn = rng_.Uniform() < options_.p_draw;
    if (decision.drawn) decision.action = DrawAction(rng_, options_.p_zero);
  } else {
    const bool this_window =
        standing.decided && standing.decision.mode == 1 && standing.decision.window == window;
    if (!this_window) {
      const uint64_t name = std::hash<std::string_view>()(event.name());
      Rng group(options_.seed, MixSeed(MixSeed(3, window), name));
      decision.drawn = !policy_ || group.Uniform() < kGroupsDrawnAroundPolicy;
      decision.action = DrawAction(group, options_.p_zero);
    } else if (standing.decision.drawn) {
      return std::nullopt;  // the group keeps its draw to the window's end
    }
  }
  if (decision.drawn) return decision;
  if (!policy_) return std::nullopt;
  const auto followed = policy_->Decide(event, values, standing);
  if (!followed) return std::nullopt;
  decision.action = followed->action;
  return decision;
}

std::string Explorer::Why(std::span<const double> values) const {
  return policy_ && !values.empty() ? policy_->Why(values) : "by lot";
}

}  // namespace kernelx
