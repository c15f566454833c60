// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Who says what a task shall get, and who hears what happened. The loop between them (engine.h) is
// the same for `live`, which follows a policy, and `record --explore`, which draws by lot.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernelx/policy/policy.h"
#include "kernelx/preprocess/feature_set.h"
#include "kernelx/record/event.h"

namespace kernelx {

/// An action for the task of an event, and the law it came from.
struct Decision {
  double action = 0.0;
  bool drawn = false;  ///< by lot, with the law below; else by rule
  uint8_t mode = 0;    ///< 0: a draw a task and event; 1: a draw a command name and window
  uint32_t window = 0;
  double p_draw = 0.0;
  double p_zero = 0.0;
};

/// What a task runs under.
struct Standing {
  Decision decision;
  uint32_t events = 0;  ///< switch-ins since that was decided, this one included
  bool decided = false;
  uint64_t decided_ns = 0;
};

class Decider {
 public:
  virtual ~Decider() = default;
  /// What it reads of a task.
  [[nodiscard]] virtual const FeatureSet& features() const = 0;
  /// Whether `Decide` will read the values of a task at an event of `now_ns`.
  [[nodiscard]] virtual bool NeedsValues(const Standing& standing, uint64_t now_ns) const = 0;
  /// The action for the task of `event` from now on, or nothing: what stands goes on standing.
  /// `values` are those of `features()` when they are needed, else empty. Called for every event;
  /// does not allocate for a task known.
  virtual std::optional<Decision> Decide(const SchedEvent& event, std::span<const double> values,
                                         const Standing& standing) = 0;
  /// Why a decision came out as it did, in a few words, for the audit log.
  [[nodiscard]] virtual std::string Why(std::span<const double> values) const = 0;
};

/// Follows a policy: its median action, every `hold` events of a task, but not more often than
/// `rest_ns`: a task that switches ten thousand times a second is no other task each time.
class PolicyDecider final : public Decider {
 public:
  /// `name_or_path` as `MakePolicy` takes it; the features are those of the policy's file, for a
  /// built-in policy the extended set. Throws as `MakePolicy` and `Policy::Bind`.
  explicit PolicyDecider(const std::string& name_or_path, uint64_t rest_ns = kRestNs);
  static constexpr uint64_t kRestNs = 20'000'000;

  [[nodiscard]] const FeatureSet& features() const override { return features_; }
  [[nodiscard]] bool NeedsValues(const Standing& standing, uint64_t now_ns) const override;
  std::optional<Decision> Decide(const SchedEvent& event, std::span<const double> values,
                                 const Standing& standing) override;
  /// The features that move the decision most when they are set to their mean, for a network; the
  /// policy's name for a rule.
  [[nodiscard]] std::string Why(std::span<const double> values) const override;
  [[nodiscard]] const Policy& policy() const { return *policy_; }
  [[nodiscard]] int hold() const { return hold_; }

 private:
  std::unique_ptr<Policy> policy_;
  FeatureSet features_;
  int hold_ = 5;
  uint64_t rest_ns_;
};

}  // namespace kernelx
