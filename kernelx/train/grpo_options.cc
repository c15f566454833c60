// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/grpo_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr const char* kScaleNames[] = {"none", "ema", "batch", "group"};

/// 0 at the first update, 1 at the last.
double Progress(uint64_t update, uint64_t total) {
  if (total <= 1) return 0.0;
  return std::min(1.0, static_cast<double>(update) / static_cast<double>(total - 1));
}

void Require(bool holds, const char* option, double value, const char* range) {
  if (!holds) {
    throw Error(ErrorCode::kUsage,
                fmt::format("[train.GrpoOptions] {} is {}; it must be {}", option, value, range));
  }
}

}  // namespace

const char* AdvantageScaleName(AdvantageScale scale) {
  return kScaleNames[static_cast<size_t>(scale)];
}

AdvantageScale AdvantageScaleNamed(const std::string& name) {
  for (size_t i = 0; i < std::size(kScaleNames); ++i) {
    if (name == kScaleNames[i]) return static_cast<AdvantageScale>(i);
  }
  throw Error(
      ErrorCode::kUsage,
      fmt::format("[train.AdvantageScaleNamed] no scale is called '{}'; use none, ema, batch "
                  "or group",
                  name));
}

uint64_t GrpoOptions::total_updates() const {
  uint64_t total = 0;
  for (const Phase& phase : phases) total += phase.updates;
  return total;
}

size_t GrpoOptions::HorizonAt(uint64_t update) const {
  for (const Phase& phase : phases) {
    if (update < phase.updates) return phase.horizon;
    update -= phase.updates;
  }
  return phases.back().horizon;
}

double GrpoOptions::LearningRateAt(uint64_t update) const {
  const double bend = 0.5 * (1.0 + std::cos(std::numbers::pi * Progress(update, total_updates())));
  return learning_rate_last + (learning_rate_first - learning_rate_last) * bend;
}

double GrpoOptions::KlWeightAt(uint64_t update) const {
  return kl_weight_first + (kl_weight_last - kl_weight_first) * Progress(update, total_updates());
}

void GrpoOptions::Check() const {
  const auto number = [](auto n) { return static_cast<double>(n); };
  const auto share = [](double x) { return x >= 0.0 && x <= 1.0; };
  const auto weight = [](double x) { return x >= 0.0 && std::isfinite(x); };
  Require(states >= 1, "states", number(states), "at least 1");
  Require(group_size >= 2, "group_size", number(group_size), "at least 2: an advantage compares");
  Require(!phases.empty(), "phases", 0, "at least one");
  for (const Phase& phase : phases) {
    Require(phase.horizon >= 1, "horizon", number(phase.horizon), "at least 1");
  }
  Require(share(discount), "discount", discount, "in [0, 1]");
  Require(epochs >= 1, "epochs", epochs, "at least 1");
  Require(clip_low > 0.0 && clip_low < 1.0, "clip_low", clip_low, "in (0, 1)");
  Require(clip_high > 0.0, "clip_high", clip_high, "above 0");
  Require(weight(kl_weight_first), "kl_weight_first", kl_weight_first, "0 or more");
  Require(weight(kl_weight_last), "kl_weight_last", kl_weight_last, "0 or more");
  Require(weight(entropy_weight), "entropy_weight", entropy_weight, "0 or more");
  Require(kl_stop > 0.0, "kl_stop", kl_stop, "above 0");
  Require(gradient_clip > 0.0, "gradient_clip", gradient_clip, "above 0");
  Require(weight(learning_rate_first), "learning_rate_first", learning_rate_first, "0 or more");
  Require(weight(learning_rate_last), "learning_rate_last", learning_rate_last, "0 or more");
}

std::string GrpoOptions::Describe() const {
  nlohmann::json json = {{"seed", seed},
                         {"states", states},
                         {"group_size", group_size},
                         {"discount", discount},
                         {"scale", AdvantageScaleName(scale)},
                         {"leave_one_out", leave_one_out},
                         {"epochs", epochs},
                         {"clip_low", clip_low},
                         {"clip_high", clip_high},
                         {"kl_weight_first", kl_weight_first},
                         {"kl_weight_last", kl_weight_last},
                         {"entropy_weight", entropy_weight},
                         {"kl_stop", kl_stop},
                         {"gradient_clip", gradient_clip},
                         {"learning_rate_first", learning_rate_first},
                         {"learning_rate_last", learning_rate_last}};
  json["phases"] = nlohmann::json::array();
  for (const Phase& phase : phases) {
    json["phases"].push_back({{"updates", phase.updates}, {"horizon", phase.horizon}});
  }
  return json.dump();
}

}  // namespace kernelx
