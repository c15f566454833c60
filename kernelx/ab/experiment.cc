// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ab/experiment.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

void Wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::vector<size_t> Order(size_t arms, uint64_t seed, size_t block) {
  std::vector<size_t> order(arms);
  std::iota(order.begin(), order.end(), size_t{0});
  Rng rng(seed, MixSeed(21, block));
  for (size_t i = arms; i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  return order;
}

Window Measure(const Load& load, double seconds) {
  const auto begin = Clock::now();
  const std::vector<GroupSample> before = load.Sample();
  Wait(seconds);
  std::vector<GroupSample> after = load.Sample();
  Window window{.seconds = std::chrono::duration<double>(Clock::now() - begin).count()};
  for (size_t g = 0; g < after.size(); ++g) {
    window.groups.push_back({.latency_us = after[g].latency_us.Since(before[g].latency_us),
                             .completions = after[g].completions - before[g].completions,
                             .cpu_ns = after[g].cpu_ns - before[g].cpu_ns});
  }
  return window;
}

Json ToJson(const Interval& interval) {
  return {{"value", interval.value}, {"ci95", {interval.low, interval.high}}};
}

Json ToJson(const Window& window, const std::vector<GroupSpec>& groups) {
  Json json = {{"block", window.block}, {"arm", window.arm}, {"seconds", window.seconds}};
  for (size_t g = 0; g < groups.size(); ++g) {
    const GroupSample& sample = window.groups[g];
    Json buckets = Json::array();
    for (size_t i = 0; i < Histogram::kBuckets; ++i) {
      if (sample.latency_us.count(i) > 0) buckets.push_back({i, sample.latency_us.count(i)});
    }
    json["groups"][groups[g].name] = {{"latency_us_buckets", buckets},
                                      {"completions", sample.completions},
                                      {"cpu_ns", sample.cpu_ns}};
  }
  return json;
}

constexpr std::pair<WorkKind, const char*> kKinds[] = {
    {WorkKind::kPeriodic, "periodic"}, {WorkKind::kIrregular, "irregular"},
    {WorkKind::kEcho, "echo"},         {WorkKind::kMessaging, "messaging"},
    {WorkKind::kHog, "hog"},           {WorkKind::kBatch, "batch"},
    {WorkKind::kFork, "fork"},         {WorkKind::kDisk, "disk"}};

Json ToJson(const LoadSpec& load) {
  Json json = {{"name", load.name}, {"what", load.what}, {"groups", Json::array()}};
  for (const GroupSpec& group : load.groups) {
    const char* kind = "";
    for (const auto& [value, name] : kKinds) {
      if (value == group.kind) kind = name;
    }
    json["groups"].push_back({{"name", group.name},
                              {"kind", kind},
                              {"count", group.count},
                              {"period_us", group.period_us},
                              {"work_us", group.work_us},
                              {"latency", group.latency()}});
  }
  return json;
}

Json ToJson(const ArmResult& arm, const Experiment& experiment) {
  Json json = {{"name", arm.name},
               {"p50_us", arm.p50_us},
               {"p99_us", arm.p99_us},
               {"blocks", arm.blocks},
               {"ratio", arm.ratio.value},
               {"ci95", {arm.ratio.low, arm.ratio.high}},
               {"verdict", VerdictName(arm.verdict)},
               {"groups", Json::object()}};
  if (arm.against_noop) json["against_noop"] = ToJson(*arm.against_noop);
  if (arm.against_oracle) json["against_oracle"] = ToJson(*arm.against_oracle);
  for (const Guard& guard : arm.guards) {
    json["groups"][guard.group][guard.what] = ToJson(guard.ratio);
  }
  const auto said = experiment.arm_says.find(arm.name);
  if (said != experiment.arm_says.end()) json["says"] = said->second;
  return json;
}

}  // namespace

Experiment RunExperiment(const LoadSpec& spec, const ExperimentOptions& options,
                         const std::vector<std::unique_ptr<Arm>>& arms,
                         const std::function<bool()>& stop,
                         const std::function<void(size_t, size_t)>& progress) {
  Experiment experiment{.load = spec, .options = options};
  for (const auto& arm : arms) experiment.arms.push_back(arm->name());
  const Load load(spec, options.seed);
  Wait(options.warmup_s);
  const size_t all = options.blocks * arms.size();
  const auto keep = [&](const std::string& trouble) {
    experiment.trouble = trouble;
    experiment.cut_short = true;
  };
  for (size_t block = 0; block < options.blocks && !experiment.cut_short; ++block) {
    for (const size_t i : Order(arms.size(), options.seed, block)) {
      if (stop()) {
        experiment.cut_short = true;
        break;
      }
      Arm& arm = *arms[i];
      Window window;
      Json says;
      try {
        arm.On(load);
        Wait(options.washout_s);
        window = Measure(load, options.window_s);
        says = arm.Off();
      } catch (const Error& error) {
        if (experiment.windows.empty()) throw;  // nothing to keep: it never worked
        keep(error.what());
        break;
      }
      if (!load.Whole()) {
        keep(fmt::format("one of the load's processes ended in block {}", block));
        break;
      }
      window.block = block;
      window.arm = arm.name();
      experiment.windows.push_back(std::move(window));
      if (says.is_object()) experiment.arm_says[arm.name()] = std::move(says);
      progress(experiment.windows.size(), all);
    }
  }
  return experiment;
}

Json ToJson(const Experiment& experiment, const Judgement& judgement) {
  utsname host{};
  uname(&host);
  const ExperimentOptions& o = experiment.options;
  Json json = {
      {"format", "kernelx-ab-1"},
      {"metric", "p99 latency from the intended start, geometric mean over latency groups"},
      {"load", ToJson(experiment.load)},
      {"options",
       {{"blocks", o.blocks},
        {"window_s", o.window_s},
        {"washout_s", o.washout_s},
        {"warmup_s", o.warmup_s},
        {"seed", o.seed},
        {"live_flags", o.live_flags}}},
      {"cut_short", experiment.cut_short},
      {"trouble", experiment.trouble},
      {"machine",
       {{"kernel", host.release},
        {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
        {"kernelx", KERNELX_VERSION}}},
      {"order", experiment.arms},
      {"noise_sd", judgement.noise_sd},
      {"detectable_ratio", judgement.detectable},
      {"guards", Json::array()},
      {"arms", Json::array()},
      {"windows", Json::array()}};
  const ArmResult* judged = nullptr;
  for (const ArmResult& arm : judgement.arms) {
    json["arms"].push_back(ToJson(arm, experiment));
    const bool builtin = arm.name == kNoopArm || arm.name == kSameArm || arm.name == kOracleArm;
    if (judged == nullptr && !builtin) judged = &arm;
  }
  if (judged == nullptr) judged = &judgement.arms.back();
  json["judged"] = judged->name;
  json["verdict"] = VerdictName(judged->verdict);
  json["ratio"] = judged->ratio.value;
  json["ci95"] = {judged->ratio.low, judged->ratio.high};
  for (const Guard& guard : judged->guards) {
    json["guards"].push_back({{"group", guard.group},
                              {"what", guard.what},
                              {"ratio", guard.ratio.value},
                              {"ci95", {guard.ratio.low, guard.ratio.high}},
                              {"least", kGuardRatio},
                              {"holds", guard.holds()}});
  }
  for (const Window& window : experiment.windows) {
    json["windows"].push_back(ToJson(window, experiment.load.groups));
  }
  return json;
}

Experiment ExperimentFromJson(const Json& json, const std::string& where) {
  try {
    if (json.at("format") != "kernelx-ab-1") throw Error(ErrorCode::kBadInput, "another format");
    Experiment experiment;
    experiment.load.name = json.at("load").at("name");
    experiment.load.what = json.at("load").at("what");
    for (const Json& group : json.at("load").at("groups")) {
      GroupSpec spec{.name = group.at("name"),
                     .count = group.at("count"),
                     .period_us = group.at("period_us"),
                     .work_us = group.at("work_us")};
      for (const auto& [value, name] : kKinds) {
        if (group.at("kind") == name) spec.kind = value;
      }
      experiment.load.groups.push_back(std::move(spec));
    }
    const Json& options = json.at("options");
    experiment.options = {.blocks = options.at("blocks"),
                          .window_s = options.at("window_s"),
                          .washout_s = options.at("washout_s"),
                          .warmup_s = options.at("warmup_s"),
                          .seed = options.at("seed"),
                          .live_flags = options.at("live_flags")};
    experiment.arms = json.at("order").get<std::vector<std::string>>();
    experiment.cut_short = json.at("cut_short");
    experiment.trouble = json.at("trouble");
    for (const Json& from : json.at("windows")) {
      Window window{
          .block = from.at("block"), .arm = from.at("arm"), .seconds = from.at("seconds")};
      for (const GroupSpec& group : experiment.load.groups) {
        const Json& sample = from.at("groups").at(group.name);
        GroupSample& to = window.groups.emplace_back();
        for (const Json& bucket : sample.at("latency_us_buckets")) {
          to.latency_us.AddToBucket(bucket.at(0), bucket.at(1));
        }
        to.completions = sample.at("completions");
        to.cpu_ns = sample.at("cpu_ns");
      }
      experiment.windows.push_back(std::move(window));
    }
    for (const Json& arm : json.at("arms")) {
      if (arm.contains("says")) experiment.arm_says[arm.at("name")] = arm.at("says");
    }
    return experiment;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: {}; this is no whole result of `kernelx ab`",
                                                  where, error.what()));
  }
}

}  // namespace kernelx
