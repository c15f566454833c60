// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/preprocess/feature_set.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>

#include "kernelx/dataset/transition.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"

namespace kernelx {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostWeight = 1e6;
constexpr double kMostScale = 1e12;  // a counter times this, squared and summed, stays finite

constexpr std::pair<FeatureKind, std::string_view> kKindNames[] = {
    {FeatureKind::kSlot, "slot"},
    {FeatureKind::kWaitEma, "wait_ema"},
    {FeatureKind::kWakeIrregularity, "wake_irregularity"},
    {FeatureKind::kTimerShare, "timer_share"},
    {FeatureKind::kIrqShare, "irq_share"},
    {FeatureKind::kTaskShare, "task_share"},
    {FeatureKind::kPreemptedShare, "preempted_share"},
    {FeatureKind::kWakerNovelty, "waker_novelty"},
    {FeatureKind::kBurstEma, "burst_ema"},
    {FeatureKind::kVoluntaryShare, "voluntary_share"},
    {FeatureKind::kSleepEma, "sleep_ema"},
    {FeatureKind::kFamilyLoad, "family_load"},
    {FeatureKind::kPreviousAction, "previous_action"},
};

std::string_view KindName(FeatureKind kind) {
  for (const auto& [value, name] : kKindNames) {
    if (value == kind) return name;
  }
  return "slot";
}

std::string KindList() {
  std::string list;
  for (const auto& [value, name] : kKindNames)
    list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

Feature Slot(std::string name, int slot, Transform transform = Transform::kNone) {
  return {
      .name = std::move(name), .kind = FeatureKind::kSlot, .slot = slot, .transform = transform};
}

/// A slot that a policy sees: symlog of slot * scale.
Feature SeenSlot(std::string name, int slot, double scale, double metric_weight,
                 Transform transform = Transform::kSymlog) {
  return {.name = std::move(name),
          .kind = FeatureKind::kSlot,
          .slot = slot,
          .transform = transform,
          .scale = scale,
          .policy = true,
          .metric_weight = metric_weight};
}

/// A running statistic, named after its kind.
Feature History(FeatureKind kind, double metric_weight) {
  return {.name = std::string(KindName(kind)),
          .kind = kind,
          .policy = true,
          .metric_weight = metric_weight};
}

std::vector<Feature> SeedFeatures() {
  return {Slot("cpu", kSlotCpu),
          Slot("prio", kSlotPrio),
          Slot("sprio", kSlotStaticPrio),
          Slot("nprio", kSlotNormalPrio),
          Slot("exec_ns", kSlotExecNs, Transform::kSymlog),
          Slot("vrt", kSlotVruntimeNs, Transform::kSymlog),
          Slot("migr", kSlotMigrations, Transform::kSymlog),
          Slot("cpus", kSlotCpusAllowed),
          Slot("csw", kSlotSwitches),
          Slot("wt_us", kSlotWaitUs)};
}

[[noreturn]] void Bad(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::kBadInput, fmt::format("{}: {}", where, what));
}

/// `object[key]` as T, or an error that names the key.
template <typename T>
T Get(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object() || !object.contains(key)) {
    Bad(where, fmt::format("key \"{}\" is missing; add it", key));
  }
  const Json& value = object.at(key);
  try {
    if (std::is_same_v<T, double> && !value.is_number()) {
      throw Json::type_error::create(302, "a number", &value);  // true would pass as 1
    }
    return value.get<T>();
  } catch (const Json::exception&) {
    Bad(where,
        fmt::format("key \"{}\" has the wrong type ({}); see docs/format.md", key, value.dump()));
  }
}

int CheckSlot(double slot, const std::string& where) {
  if (!(slot >= 0 && slot < kRawFeatures) || slot != std::floor(slot)) {
    Bad(where, fmt::format("slot {} does not exist; use 0 to {}", slot, kRawFeatures - 1));
  }
  return static_cast<int>(slot);
}

Feature ParseFeature(const Json& item, const std::string& where) {
  Feature feature;
  feature.name = Get<std::string>(item, "name", where);
  const std::string at = fmt::format("{}: feature \"{}\"", where, feature.name);
  const auto kind = Get<std::string>(item, "kind", at);
  bool known = false;
  for (const auto& [value, name] : kKindNames) {
    if (name == kind) feature.kind = value, known = true;
  }
  if (!known) Bad(at, fmt::format("kind \"{}\" is unknown; use one of {}", kind, KindList()));
  if (feature.kind == FeatureKind::kSlot)
    feature.slot = CheckSlot(Get<double>(item, "slot", at), at);
  if (item.contains("transform")) {
    const auto transform = Get<std::string>(item, "transform", at);
    if (transform != "none" && transform != "symlog") {
      Bad(at, fmt::format("transform \"{}\" is unknown; use none or symlog", transform));
    }
    feature.transform = transform == "symlog" ? Transform::kSymlog : Transform::kNone;
  }
  if (item.contains("scale")) feature.scale = Get<double>(item, "scale", at);
  if (item.contains("policy")) feature.policy = Get<bool>(item, "policy", at);
  if (item.contains("metric_weight"))
    feature.metric_weight = Get<double>(item, "metric_weight", at);
  if (!(feature.metric_weight >= 0.0 && feature.metric_weight <= kMostWeight)) {
    Bad(at, fmt::format("metric_weight {} is out of range; use 0 to {}", feature.metric_weight,
                        kMostWeight));
  }
  if (!(std::abs(feature.scale) <= kMostScale)) {
    Bad(at, fmt::format("scale {} is out of range; use at most {}", feature.scale, kMostScale));
  }
  return feature;
}

/// The seed's configuration: index lists instead of objects.
std::vector<Feature> ParseSeedConfiguration(const Json& root, const std::string& where) {
  const auto active = Get<std::vector<double>>(root, "active_features", where);
  const auto symlog = Get<std::vector<double>>(root, "symlog_features", where);
  const auto names = Get<std::vector<std::string>>(root, "feature_names", where);
  if (names.size() != active.size()) {
    Bad(where, fmt::format("{} feature_names for {} active_features; give one name each",
                           names.size(), active.size()));
  }
  std::set<int> logged;
  for (const double slot : symlog) logged.insert(CheckSlot(slot, where));
  std::vector<Feature> features;
  for (size_t i = 0; i < active.size(); ++i) {
    const int slot = CheckSlot(active[i], where);
    features.push_back(
        Slot(names[i], slot, logged.contains(slot) ? Transform::kSymlog : Transform::kNone));
  }
  return features;
}

}  // namespace

double Symlog(double x) { return std::copysign(std::log1p(std::abs(x)), x); }
double Symexp(double y) { return std::copysign(std::expm1(std::abs(y)), y); }

FeatureSet::FeatureSet(std::string name, std::vector<Feature> features)
    : name_(std::move(name)), features_(std::move(features)) {}

const FeatureSet& FeatureSet::Seed() {
  static const FeatureSet set("seed", SeedFeatures());
  return set;
}

const FeatureSet& FeatureSet::Extended() {
  static const FeatureSet set = [] {
    std::vector<Feature> features = SeedFeatures();
    for (const Feature& feature : {
             SeenSlot("wait", kSlotWaitUs, 1.0, 0.3),
             History(FeatureKind::kWaitEma, 1.0),
             History(FeatureKind::kWakeIrregularity, 1.0),
             History(FeatureKind::kTimerShare, 1.0),
             History(FeatureKind::kIrqShare, 1.0),
             History(FeatureKind::kTaskShare, 1.0),
             History(FeatureKind::kPreemptedShare, 1.0),
             History(FeatureKind::kWakerNovelty, 0.5),
             History(FeatureKind::kBurstEma, 1.0),
             History(FeatureKind::kVoluntaryShare, 0.5),
             SeenSlot("cpu_since_sleep", kSlotCpuSinceWakeNs, 1e-3, 1.0),
             SeenSlot("sleep", kSlotSleepUs, 1.0, 0.3),
             History(FeatureKind::kSleepEma, 0.5),
             SeenSlot("util", kSlotUtilAvg, 1.0 / 1024, 1.0, Transform::kNone),
             SeenSlot("runnable_avg", kSlotRunnableAvg, 1.0, 0.5),
             SeenSlot("runnable", kSlotRunnable, 1.0, 1.0),
             // Not for policies: one load's families do not tell what another's mean. A policy
             // trained where crowds are processes took a crowd of threads for something else.
             Feature{.name = "family_load", .kind = FeatureKind::kFamilyLoad},
             History(FeatureKind::kPreviousAction, 1.0),
         }) {
      features.push_back(feature);
    }
    return FeatureSet("extended", std::move(features));
  }();
  return set;
}

FeatureSet FeatureSet::Load(const std::string& name_or_path) {
  if (name_or_path == "seed") return Seed();
  if (name_or_path == "extended") return Extended();
  return FromJson(ReadFile(name_or_path), name_or_path);
}

FeatureSet FeatureSet::FromJson(std::string_view text, const std::string& where) {
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::exception& error) {
    Bad(where, fmt::format("not JSON ({}); see docs/format.md for the form", error.what()));
  }
  std::vector<Feature> features;
  std::string name = where;
  if (root.is_object() && root.contains("active_features")) {
    features = ParseSeedConfiguration(root, where);
  } else {
    for (const Json& item : Get<Json::array_t>(root, "features", where)) {
      features.push_back(ParseFeature(item, where));
    }
  }
  if (root.contains("name")) name = Get<std::string>(root, "name", where);
  if (features.empty()) Bad(where, "no feature at all; name at least one");
  std::set<std::string> seen;
  for (const Feature& feature : features) {
    if (!seen.insert(feature.name).second) {
      Bad(where, fmt::format("feature \"{}\" stands twice; names must differ", feature.name));
    }
  }
  return {std::move(name), std::move(features)};
}

std::vector<std::string> FeatureSet::names() const {
  std::vector<std::string> names;
  for (const Feature& feature : features_) names.push_back(feature.name);
  return names;
}

int FeatureSet::Find(std::string_view name) const {
  for (size_t i = 0; i < features_.size(); ++i) {
    if (features_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::string FeatureSet::ToJson(const std::vector<double>& mean,
                               const std::vector<double>& sd) const {
  Json root;
  root["format"] = "kernelx-features";
  root["version"] = 1;
  root["name"] = name_;
  root["feature_names"] = names();
  root["features"] = Json::array();
  for (size_t i = 0; i < features_.size(); ++i) {
    const Feature& feature = features_[i];
    Json item;
    item["name"] = feature.name;
    item["kind"] = KindName(feature.kind);
    if (feature.kind == FeatureKind::kSlot) item["slot"] = feature.slot;
    if (feature.transform == Transform::kSymlog) item["transform"] = "symlog";
    if (feature.scale != 1.0) item["scale"] = feature.scale;
    if (feature.policy) item["policy"] = true;
    if (feature.metric_weight != 0.0) item["metric_weight"] = feature.metric_weight;
    if (i < mean.size()) item["mean"] = mean[i], item["sd"] = sd[i];
    root["features"].push_back(std::move(item));
  }
  return root.dump(1) + "\n";
}

}  // namespace kernelx
