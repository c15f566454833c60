// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The experiment: every arm once a block, in an order by lot, on one load that never stops.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernelx/ab/load.h"
#include "kernelx/ab/verdict.h"

namespace kernelx {

/// Something that can be switched on and off around a window.
class Arm {
 public:
  virtual ~Arm() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Blocks until it acts. Throws kMissingCapability or kFile when it cannot.
  virtual void On(const Load& /*load*/) {}
  /// Blocks until all is as before. Gives what it says of itself, or null.
  virtual nlohmann::json Off() { return nullptr; }
};

/// Does nothing: `default`, and `a/a`.
[[nodiscard]] std::unique_ptr<Arm> MakeIdleArm(const std::string& name);
/// `program live` with the policy and `flags` (e.g. --max-demote 0), on the tree of the load.
[[nodiscard]] std::unique_ptr<Arm> MakeLiveArm(const std::string& name, const std::string& program,
                                               const std::string& policy,
                                               const std::vector<std::string>& flags);
/// Nice -10 and a slice of 0.1 ms on the tasks of the latency groups.
[[nodiscard]] std::unique_ptr<Arm> MakeOracleArm();
/// Two commands for the shell. Throws kUsage for text without `;`.
[[nodiscard]] std::unique_ptr<Arm> MakeCommandArm(const std::string& name, const std::string& text);

struct ExperimentOptions {
  size_t blocks = 40;
  double window_s = 3.0;
  double washout_s = 0.7;  ///< after an arm was switched on, before its window
  double warmup_s = 3.0;   ///< after the load was started
  uint64_t seed = 1;
  std::string live_flags = {};  ///< that every arm with a policy ran with; for the record
};

struct Experiment {
  LoadSpec load;
  ExperimentOptions options;
  std::vector<std::string> arms = {};  ///< `default` first
  std::vector<Window> windows = {};
  std::map<std::string, nlohmann::json> arm_says = {};  ///< what each arm said of itself last
  bool cut_short = false;  ///< asked to stop, or in trouble: what was measured is here
  std::string trouble = {};
};

/// Runs it. `stop` is asked between windows: what was measured is kept. `progress` is called after
/// each window. Every arm is off at the end, whatever happens.
[[nodiscard]] Experiment RunExperiment(const LoadSpec& load, const ExperimentOptions& options,
                                       const std::vector<std::unique_ptr<Arm>>& arms,
                                       const std::function<bool()>& stop,
                                       const std::function<void(size_t, size_t)>& progress);

/// The result file, and back. `FromJson` throws kBadInput naming what is missing.
[[nodiscard]] nlohmann::json ToJson(const Experiment& experiment, const Judgement& judgement);
[[nodiscard]] Experiment ExperimentFromJson(const nlohmann::json& json, const std::string& where);

}  // namespace kernelx
