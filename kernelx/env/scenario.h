// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// A scenario is what environments share and none changes: the dataset, the order of its rows, the
// dynamics, the reward, the lengths. An environment is a scenario plus where its episode stands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/env/dynamics.h"
#include "kernelx/env/outcome.h"
#include "kernelx/env/reward.h"

namespace kernelx {

struct ScenarioOptions {
  std::string dynamics = "nearest";
  std::string reward = "balanced";
  RewardOptions reward_options{};
  Order order = Order::kTask;
  /// Events that one decision stands; 0: 1 with reward `seed` or order recorded, else 5.
  int hold = 0;
  /// Decisions after which an episode is truncated.
  int max_steps = 10;
  unsigned threads = 0;  ///< for set-up only; 0: one a core
};

/// `recorded` or `task`; throws kUsage for anything else.
Order ParseOrder(std::string_view name);
std::string_view OrderName(Order order);

class Scenario {
 public:
  /// Throws kUsage for options that make no sense, kBadInput when the dataset is too small: fewer
  /// than max_steps + 1 rows in recorded order (naming both numbers), no row at all.
  Scenario(Dataset dataset, const ScenarioOptions& options);
  Scenario(const Scenario&) = delete;
  Scenario& operator=(const Scenario&) = delete;

  [[nodiscard]] const Dataset& dataset() const { return dataset_; }
  [[nodiscard]] const Trajectories& trajectories() const { return trajectories_; }
  [[nodiscard]] const Reward& reward() const { return *reward_; }
  [[nodiscard]] const Dynamics& dynamics() const { return *dynamics_; }
  [[nodiscard]] const ScenarioOptions& options() const { return options_; }
  [[nodiscard]] int hold() const { return options_.hold; }
  [[nodiscard]] int max_steps() const { return options_.max_steps; }
  [[nodiscard]] size_t feature_count() const { return dataset_.feature_count(); }
  /// Column of the feature `previous_action`, or -1: the environment writes the agent's own there.
  [[nodiscard]] int previous_action_column() const { return previous_action_column_; }

  /// Number of rows an episode may start at, and the k-th of them.
  [[nodiscard]] size_t start_count() const { return start_count_; }
  [[nodiscard]] uint32_t start(size_t k) const {
    return starts_.empty() ? static_cast<uint32_t>(k) : starts_[k];
  }
  /// Throws kUsage unless an episode may start at `row`, saying why not.
  void CheckStart(uint64_t row) const;

 private:
  Dataset dataset_;
  ScenarioOptions options_;
  Trajectories trajectories_;
  std::unique_ptr<Reward> reward_;
  std::unique_ptr<Dynamics> dynamics_;
  int previous_action_column_ = -1;
  size_t start_count_ = 0;
  std::vector<uint32_t> starts_;  // empty: the first start_count_ rows
};

}  // namespace kernelx
