// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/run.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernelx/env/scenario.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"
#include "kernelx/ground/rng.h"
#include "kernelx/ope/draws.h"
#include "kernelx/ope/estimate.h"
#include "kernelx/policy/mlp_policy.h"
#include "kernelx/policy/registry.h"
#include "kernelx/train/grpo_trainer.h"
#include "kernelx/train/model_gain.h"
#include "kernelx/train/scheduler_group.h"

namespace kernelx {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kWarmStartRows = 20000;
constexpr size_t kValidationRows = 512;

/// `count` rows by lot, as columns of features.
std::vector<double> SampleStates(const Dataset& data, size_t count, uint64_t seed) {
  std::vector<double> states;
  Rng rng(seed, 3);
  for (size_t i = 0; i < count; ++i) {
    const auto state = data.state(rng.Below(data.size()));
    states.insert(states.end(), state.begin(), state.end());
  }
  return states;
}

Certificate Certify(const Dataset& train, const RunOptions& options) {
  Certificate certificate = CheckEnv(
      train, {.dynamics = options.dynamics, .seed = options.grpo.seed, .threads = options.threads});
  if (certificate.verdict != CertificateVerdict::kActs && !options.allow_action_blind) {
    throw Error(ErrorCode::kUsage,
                fmt::format("train: dynamics {} on {} is certified {}: {}. A policy trained here "
                            "would learn nothing about what actions do. Choose dynamics nearest on "
                            "a recording with drawn actions, or pass --allow-action-blind",
                            options.dynamics, train.source(), VerdictName(certificate.verdict),
                            certificate.why));
  }
  return certificate;
}

MlpPolicy NewPolicy(const Dataset& train, const Scenario& scenario, const RunOptions& options) {
  MlpPolicySpec spec;
  for (const size_t column : PolicyColumns(train)) {
    spec.features.push_back(train.feature_names()[column]);
  }
  spec.feature_set = train.sidecar();
  spec.reward = options.reward;
  spec.hold = scenario.hold();
  spec.provenance = {{"data", train.source()},
                     {"data_xxh3", train.digest()},
                     {"rows", std::to_string(train.size())},
                     {"dynamics", options.dynamics},
                     {"teacher", options.teacher},
                     {"seed", std::to_string(options.grpo.seed)},
                     {"grpo", options.grpo.Describe()},
                     {"version", KERNELX_VERSION}};
  Rng rng(options.grpo.seed, 5);
  MlpPolicy policy(std::move(spec), options.hidden, rng);
  policy.Bind(train.feature_names());
  return policy;
}

/// Imitates the teacher; leaves the policy as it is when there is none.
CloneReport WarmStart(MlpPolicy& policy, const Dataset& train, const RunOptions& options) {
  const size_t width = train.feature_count();
  const std::vector<double> states =
      SampleStates(train, std::min(kWarmStartRows, 4 * train.size()), options.grpo.seed);
  policy.FitNormaliser(states, width);
  const auto teacher = MakePolicy(options.teacher);
  teacher->Bind(train.feature_names());
  std::vector<double> actions;
  for (size_t i = 0; i < states.size(); i += width) {
    actions.push_back(teacher->Law({states.data() + i, width}).Median());
  }
  return CloneTeacher(policy, states, actions,
                      {.seed = options.grpo.seed, .threads = options.grpo.threads});
}

std::string ConfigJson(const Dataset& train, const Dataset& validation, const Scenario& scenario,
                       const RunOptions& options, const Certificate& certificate) {
  utsname machine{};
  ::uname(&machine);
  const RewardOptions& reward = options.reward_options;
  const Json config = {
      {"command", options.command},
      {"version", KERNELX_VERSION},
      {"kernel", fmt::format("{} {}", machine.sysname, machine.release)},
      {"data",
       {{"train", train.source()},
        {"train_xxh3", train.digest()},
        {"train_rows", train.size()},
        {"validation", validation.source()},
        {"validation_rows", validation.size()}}},
      {"dynamics", options.dynamics},
      {"reward",
       {{"preset", options.reward},
        {"price", reward.price},
        {"effort", reward.effort},
        {"stability", reward.stability},
        {"alpha", reward.alpha},
        {"beta", reward.beta},
        {"gamma", reward.gamma}}},
      {"hold", scenario.hold()},
      {"teacher", options.teacher},
      {"hidden", options.hidden},
      {"grpo", Json::parse(options.grpo.Describe())},
      {"certificate", {{"verdict", VerdictName(certificate.verdict)}, {"why", certificate.why}}}};
  return config.dump(2) + "\n";
}

/// The folder of the last checkpoint, or empty.
std::string LastCheckpoint(const std::string& run) {
  std::string last;
  if (!fs::is_directory(run + "/checkpoints")) return last;
  for (const auto& entry : fs::directory_iterator(run + "/checkpoints")) {
    if (entry.is_directory()) last = std::max(last, entry.path().string());
  }
  return last;
}

void Checkpoint(const GrpoTrainer& trainer, const std::string& run) {
  const std::string folder = fmt::format("{}/checkpoints/{:06}", run, trainer.update());
  fs::create_directories(folder);
  trainer.Save(folder);
}

/// The constant to beat, where the recording can tell.
void FindBestConstant(const Dataset& train, const Scenario& scenario, RunResult& result) {
  if (!train.has(Column::kBehavior)) return;
  try {
    const auto collected = CollectDraws(train, scenario.trajectories(), scenario.reward(),
                                        scenario.hold(), DrawScope::kIntentionToTreat);
    result.best_constant = BestConstant(collected.draws, ConstantGrid()).action;
    result.best_constant_known = true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
  }
}

}  // namespace

RunResult TrainRun(const Dataset& train, const Dataset& validation, const RunOptions& options,
                   const RunCallbacks& callbacks) {
  const auto stage = [&](const std::string& name) {
    if (callbacks.stage) callbacks.stage(name);
  };
  std::error_code failed;
  fs::create_directories(options.out, failed);
  if (failed) {
    throw Error(ErrorCode::kFile, fmt::format("{}: cannot make the run folder: {}; check the path",
                                              options.out, failed.message()));
  }
  RunResult result;
  stage("certificate: does the action move the outcome?");
  result.certificate = Certify(train, options);

  size_t horizon = 1;
  for (const Phase& phase : options.grpo.phases) horizon = std::max(horizon, phase.horizon);
  const auto scenario = std::make_shared<const Scenario>(
      train, ScenarioOptions{.dynamics = options.dynamics,
                             .reward = options.reward,
                             .reward_options = options.reward_options,
                             .hold = options.hold,
                             .max_steps = static_cast<int>(horizon),
                             .threads = options.threads});
  FindBestConstant(train, *scenario, result);
  WriteFileAtomically(options.out + "/config.json",
                      ConfigJson(train, validation, *scenario, options, result.certificate));

  stage("warm start: imitating " + options.teacher);
  MlpPolicy policy = NewPolicy(train, *scenario, options);
  result.warm_start = WarmStart(policy, train, options);
  if (result.best_constant_known) {
    policy.mutable_spec().provenance["best_constant"] = fmt::format("{}", result.best_constant);
  }

  stage("GRPO");
  SchedulerGroup env(scenario, options.grpo.seed, options.threads);
  GrpoTrainer trainer(policy, env, options.grpo);
  if (options.resume) {
    const std::string last = LastCheckpoint(options.out);
    if (last.empty()) {
      throw Error(ErrorCode::kFile, options.out + ": no checkpoint to resume from; drop --resume");
    }
    trainer.Resume(last);
  }
  MetricsCsv csv(options.out + "/metrics.csv", trainer.update());
  std::unique_ptr<ModelGain> gain;
  if (!scenario->dynamics().follows_recording()) {
    gain = std::make_unique<ModelGain>(*scenario, validation.empty() ? train : validation,
                                       kValidationRows, options.threads);
  }
  trainer.Run([&](const UpdateMetrics& metrics) {
    csv.Write(metrics);
    CurvePoint point{.metrics = metrics, .validation = std::numeric_limits<double>::quiet_NaN()};
    const bool measure = trainer.update() % options.validate_every == 0 || trainer.finished();
    if (gain && measure) point.validation = (*gain)(trainer.policy());
    result.curve.push_back(point);
    if (trainer.update() % options.checkpoint_every == 0) Checkpoint(trainer, options.out);
    if (callbacks.update) callbacks.update(metrics, options.grpo.total_updates());
    return true;
  });
  result.policy_path = options.out + "/policy.safetensors";
  trainer.policy().Save(result.policy_path);
  return result;
}

}  // namespace kernelx
