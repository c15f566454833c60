// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr size_t kSeedFeatures = 10;

ScenarioOptions Complete(ScenarioOptions options) {
  if (options.max_steps < 1) {
    throw Error(ErrorCode::kUsage,
                fmt::format("max_steps is {}; an episode has at least 1 step", options.max_steps));
  }
  if (options.hold < 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("hold is {}; a decision stands for at least 1 event", options.hold));
  }
  const bool single = options.reward == "seed" || options.order == Order::kRecorded;
  if (options.hold == 0) options.hold = single ? 1 : 5;
  if (options.order == Order::kRecorded && options.reward == "balanced") {
    throw Error(ErrorCode::kUsage,
                "reward balanced needs the events of one task in a row; use order task, or reward "
                "seed with order recorded");
  }
  return options;
}

Dataset CheckRows(Dataset dataset, const ScenarioOptions& options) {
  const size_t needed =
      options.order == Order::kRecorded ? static_cast<size_t>(options.max_steps) + 1 : 1;
  if (dataset.size() < needed) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: {} rows, but max_steps {} needs at least {}; use a longer "
                            "recording or fewer steps",
                            dataset.source(), dataset.size(), options.max_steps, needed));
  }
  return dataset;
}

}  // namespace

Order ParseOrder(std::string_view name) {
  if (name == "recorded") return Order::kRecorded;
  if (name == "task") return Order::kTask;
  throw Error(ErrorCode::kUsage,
              fmt::format("order: \"{}\" is unknown; use recorded or task", name));
}

std::string_view OrderName(Order order) { return order == Order::kRecorded ? "recorded" : "task"; }

Scenario::Scenario(Dataset dataset, const ScenarioOptions& options)
    : dataset_(CheckRows(std::move(dataset), options)),
      options_(Complete(options)),
      trajectories_(dataset_, options_.order),
      reward_(MakeReward(options_.reward, options_.reward_options)),
      dynamics_(MakeDynamics(options_.dynamics, {.dataset = dataset_,
                                                 .trajectories = trajectories_,
                                                 .reward = *reward_,
                                                 .hold = options_.hold,
                                                 .threads = options_.threads})) {
  if (options_.reward == "seed" && dataset_.feature_count() < kSeedFeatures) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: reward seed reads the seed's ten features, but a state has only "
                            "{}; preprocess with --features seed or extended",
                            dataset_.source(), dataset_.feature_count()));
  }
  previous_action_column_ = FindColumn(dataset_.feature_names(), "previous_action");

  if (options_.order == Order::kRecorded) {
    start_count_ = dataset_.size() - static_cast<size_t>(options_.max_steps);
    return;
  }
  // A first decision that stands for all its events, where any trajectory is long enough.
  for (int needed = options_.hold; starts_.empty(); needed = 1) {
    for (uint32_t row = 0; row < dataset_.size(); ++row) {
      if (trajectories_.remaining(row) >= static_cast<uint32_t>(needed)) starts_.push_back(row);
    }
  }
  start_count_ = starts_.size();
}

void Scenario::CheckStart(uint64_t row) const {
  const bool allowed = options_.order == Order::kRecorded
                           ? row < start_count_
                           : std::ranges::binary_search(starts_, static_cast<uint32_t>(row)) &&
                                 row < dataset_.size();
  if (allowed) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("start index {}: no episode can start there ({} rows, order {}, "
                          "max_steps {}, hold {}); choose another row",
                          row, dataset_.size(), OrderName(options_.order), options_.max_steps,
                          options_.hold));
}

}  // namespace kernelx
