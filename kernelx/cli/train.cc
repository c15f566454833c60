// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "kernelx/cli/progress.h"
#include "kernelx/cli/scenario_flags.h"
#include "kernelx/cli/train_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/dataset/reader.h"

namespace kernelx::cli {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string data;
  RunOptions run = DefaultRunOptions();
  uint64_t iterations = 0;
  std::string curriculum;
  std::string scale = "ema";
  bool json = false;
};

/// "300x1,100x3": 300 updates of one decision, then 100 of three.
std::vector<Phase> ParseCurriculum(const std::string& text) {
  std::vector<Phase> phases;
  for (const std::string& part : CLI::detail::split(text, ',')) {
    Phase phase;
    char tail = 0;
    if (std::sscanf(part.c_str(), "%lux%zu%c", &phase.updates, &phase.horizon, &tail) != 2) {
      throw CLI::ValidationError("--curriculum", "\"" + part + "\" is not UPDATESxDECISIONS");
    }
    phases.push_back(phase);
  }
  return phases;
}

void Run(Flags flags, const CLI::App& verb) {
  if (!flags.curriculum.empty()) {
    flags.run.grpo.phases = ParseCurriculum(flags.curriculum);
  } else if (flags.iterations > 0) {
    flags.run.grpo.phases = {{.updates = flags.iterations, .horizon = 1}};
  }
  flags.run.grpo.scale = AdvantageScaleNamed(flags.scale);
  flags.run.command = "kernelx train " + verb.config_to_str(false, false);
  const RunResult result =
      TrainWithProgress(LoadTrainingData(flags.data, flags.run.threads), flags.run);
  double gain = 0.0;
  for (const CurvePoint& point : result.curve) {
    if (point.validation == point.validation) gain = point.validation;
  }
  if (flags.json) {
    const nlohmann::ordered_json out = {
        {"policy", result.policy_path},
        {"updates", result.curve.size()},
        {"certificate", VerdictName(result.certificate.verdict)},
        {"warm_start_error", result.warm_start.error},
        {"model_gain", gain},
        {"best_constant", result.best_constant_known ? nlohmann::ordered_json(result.best_constant)
                                                     : nlohmann::ordered_json()}};
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("certificate: {}: {}\n", VerdictName(result.certificate.verdict),
             result.certificate.why);
  fmt::print("warm start: mean distance to the teacher {:.3f} on held-out states\n",
             result.warm_start.error);
  fmt::print("GRPO: {} updates; gain over doing nothing by the model's opinion {:+.3f}\n",
             result.curve.size(), gain);
  fmt::print("wrote {}\njudge it by logged outcomes: kernelx evaluate --policy {} --data ...\n",
             result.policy_path, result.policy_path);
}

}  // namespace

RunOptions DefaultRunOptions() {
  RunOptions options;
  options.grpo.phases = {{.updates = 200, .horizon = 1}};
  return options;
}

TrainingData LoadTrainingData(const std::string& path, unsigned threads) {
  TrainingData data;
  if (!fs::is_directory(path)) {
    data.train = LoadData(path, threads);
    return data;
  }
  data.train = LoadData(path + "/train.jsonl", threads);
  const std::string validation = path + "/val.jsonl";
  if (fs::exists(validation) && fs::file_size(validation) > 0) {
    data.validation = LoadData(validation, threads);
  }
  return data;
}

RunResult TrainWithProgress(const TrainingData& data, const RunOptions& options) {
  Progress progress("GRPO", options.grpo.total_updates());
  const RunResult result = TrainRun(
      data.train, data.validation, options,
      {.stage = [](const std::string& name) { fmt::print(stderr, "{}\n", name); },
       .update =
           [&](const UpdateMetrics& metrics, uint64_t) {
             progress.Show(static_cast<uint64_t>(metrics.update) + 1,
                           fmt::format("reward {:+.3f} kl {:.3f}", metrics.reward, metrics.kl));
           }});
  progress.Finish();
  return result;
}

void AddTrain(CLI::App& root) {
  auto flags = std::make_shared<Flags>();
  CLI::App& verb = AddVerb(root, "train", "train a Strategist by GRPO",
                           "  kernelx train --data data/sample/test.jsonl.zst \\\n"
                           "      --out /tmp/kx-run --iterations 5\n");
  RunOptions& run = flags->run;
  verb.add_option("--data", flags->data, "folder of processed splits, or one file")->required();
  verb.add_option("--out", run.out, "run folder")->required();
  verb.add_option("--dynamics", run.dynamics, "nearest, or replay and nearest-state (blind)")
      ->capture_default_str();
  verb.add_option("--reward", run.reward, "balanced or seed")->capture_default_str();
  verb.add_option("--price", run.reward_options.price, "balanced reward: price of the CPU share")
      ->capture_default_str();
  verb.add_option("--hold", run.hold, "events one decision stands (default 5; 1 with reward seed)");
  verb.add_option("--seed", run.grpo.seed, "seed of all that is random")->capture_default_str();
  verb.add_option("--iterations", flags->iterations, "GRPO updates (default 200)");
  verb.add_option("--curriculum", flags->curriculum,
                  "phases instead, e.g. 300x1,100x3: updates x decisions an episode");
  verb.add_option("--states", run.grpo.states, "states an update")->capture_default_str();
  verb.add_option("--group", run.grpo.group_size, "clones of each state")->capture_default_str();
  verb.add_option("--teacher", run.teacher, "policy imitated first; the reference of KL")
      ->capture_default_str();
  verb.add_option("--scale", flags->scale, "of advantages: ema, none, batch or group (as TRL)")
      ->capture_default_str();
  verb.add_option("--learning-rate", run.grpo.learning_rate_first, "at the start")
      ->capture_default_str();
  verb.add_option("--kl", run.grpo.kl_weight_last, "weight of KL to the reference at the end")
      ->capture_default_str();
  verb.add_option("--entropy", run.grpo.entropy_weight, "weight of the entropy")
      ->capture_default_str();
  verb.add_option("--hidden", run.hidden, "hidden layers")->capture_default_str();
  verb.add_option("--checkpoint-every", run.checkpoint_every, "updates")->capture_default_str();
  verb.add_flag("--resume", run.resume, "go on from the last checkpoint in --out");
  verb.add_flag("--allow-action-blind", run.allow_action_blind,
                "train even where the certificate says the action does nothing");
  verb.add_option("--threads", run.threads, "threads (0: one a core)")->capture_default_str();
  verb.add_flag("--json", flags->json, "print the summary as JSON");
  verb.callback([flags, &verb] { Run(*flags, verb); });
}

}  // namespace kernelx::cli
