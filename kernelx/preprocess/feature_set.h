// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Which features a state has, in which order and form: data (JSON), not code. The code knows kinds
// of features (a slot, or a named running statistic of the task); a feature set picks from them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelx {

/// What a feature is computed from.
enum class FeatureKind {
  kSlot,              ///< a slot of `RawState::features` of the current event
  kWaitEma,           ///< EMA of ln(1 + wait us)
  kWakeIrregularity,  ///< EMA of |change of ln(interval between wakes)|: 0 is a metronome
  kTimerShare,        ///< EMA share of events woken by a timer
  kIrqShare,          ///< by a soft or hard interrupt (network, disk)
  kTaskShare,         ///< by another task
  kPreemptedShare,    ///< not woken at all: was preempted while runnable
  kWakerNovelty,      ///< EMA share of wakes by another task than the last waker
  kBurstEma,          ///< EMA of ln(1 + CPU us used between events)
  kVoluntaryShare,    ///< EMA share of voluntary among the task's switches
  kSleepEma,          ///< EMA of ln(1 + sleep us) over wakes
  kFamilyLoad,        ///< CPUs used by the task's thread group over the last 100 ms
  kPreviousAction,    ///< the action standing when the event came
};

enum class Transform {
  kNone,
  kSymlog,  ///< sign(x) ln(1 + |x|)
};

struct Feature {
  std::string name;
  FeatureKind kind = FeatureKind::kSlot;
  int slot = 0;                            ///< kSlot only
  Transform transform = Transform::kNone;  ///< applied to (value * scale)
  double scale = 1.0;                      ///< e.g. 1e-3 for ns to us
  bool policy = false;                     ///< a policy network may see it
  double metric_weight = 0.0;              ///< weight in the `nearest` metric, after standardising
};

/// An ordered list of features. Value type.
class FeatureSet {
 public:
  /// A built-in name (`seed`, `extended`) or the path of a JSON file, either our form or the seed's
  /// configuration (`symlog_features`, `active_features`, `feature_names`). Throws kBadInput naming
  /// the key or value at fault.
  static FeatureSet Load(const std::string& name_or_path);
  /// Parses the text of a sidecar or feature-set file; `where` opens error messages.
  static FeatureSet FromJson(std::string_view text, const std::string& where);
  static const FeatureSet& Seed();
  static const FeatureSet& Extended();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] size_t size() const { return features_.size(); }
  [[nodiscard]] const std::vector<Feature>& features() const { return features_; }
  [[nodiscard]] std::vector<std::string> names() const;
  /// Column of `name`, or -1.
  [[nodiscard]] int Find(std::string_view name) const;
  /// The sidecar text: the set, plus mean and sd of each feature on the training split (empty
  /// vectors leave them out). Ends with a newline.
  [[nodiscard]] std::string ToJson(const std::vector<double>& mean = {},
                                   const std::vector<double>& sd = {}) const;

 private:
  FeatureSet(std::string name, std::vector<Feature> features);
  std::string name_;
  std::vector<Feature> features_;
};

/// sign(x) ln(1 + |x|), and its inverse.
double Symlog(double x);
double Symexp(double y);

}  // namespace kernelx
