// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The main job, end to end: train on one bundled recording, judge on another.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "kernelx/cli/evaluate_flags.h"
#include "kernelx/cli/scenario_flags.h"
#include "kernelx/cli/train_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/evaluate/conclusions.h"
#include "kernelx/evaluate/evaluation.h"
#include "kernelx/evaluate/report.h"
#include "kernelx/evaluate/text_table.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"
#include "kernelx/preprocess/preprocess.h"

namespace kernelx::cli {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string out = "runs/demo";
  std::string recordings;
  uint64_t seed = 1;
  unsigned threads = 0;
};

/// The folder of the bundled recordings: as told, here, or where the sources were built.
std::string FindRecordings(const std::string& told) {
  for (const std::string& folder :
       {told, std::string("data"), std::string(KERNELX_SOURCE_DIR "/data")}) {
    if (!folder.empty() && fs::exists(folder + "/interventional-a.jsonl.xz")) return folder;
  }
  throw Error(ErrorCode::kFile,
              "demo: no bundled recordings here; run it in the project's folder or name their "
              "folder with --recordings");
}

void Say(int step, const std::string& what) { fmt::print(stderr, "\n[{}/5] {}\n", step, what); }

void PrepareFeatures(const std::string& recording, const std::string& folder, unsigned threads) {
  ReadOptions options;
  options.threads = threads;
  const PreprocessReport report = Preprocess({recording}, FeatureSet::Extended(), folder, options);
  fmt::print(stderr, "  {}: {} rows of {} tasks -> {}\n", recording, report.rows, report.tasks,
             folder);
}

ReportInputs MakeReport(const Flags& flags, const RunResult& run, const RunOptions& options,
                        const Evaluation& evaluation) {
  ReportInputs report;
  report.title = "kernelx demo: a Strategist trained on load A, judged on load B";
  report.config_json = ReadFile(options.out + "/config.json");
  report.certificate = &run.certificate;
  report.evaluation = &evaluation;
  report.command = fmt::format("kernelx demo --seed {}", flags.seed);
  for (const CurvePoint& point : run.curve) {
    const UpdateMetrics& m = point.metrics;
    report.training.push_back({.update = static_cast<size_t>(m.update),
                               .reward = m.reward,
                               .reward_std = m.reward_std,
                               .kl = m.kl,
                               .entropy = m.entropy,
                               .clip_fraction = m.clip_ratio,
                               .grad_norm = m.grad_norm,
                               .learning_rate = m.learning_rate,
                               .validation = point.validation});
  }
  report.shown.push_back("The action matters: " + run.certificate.why);
  Conclusions conclusions = Conclude(evaluation, evaluation.policies.front().estimate.name);
  report.shown.emplace_back("The judge's load was never seen in training");
  std::ranges::move(conclusions.shown, std::back_inserter(report.shown));
  report.not_shown = std::move(conclusions.not_shown);
  return report;
}

void Run(const Flags& flags) {
  const auto begun = std::chrono::steady_clock::now();
  const std::string recordings = FindRecordings(flags.recordings);
  const std::string load_a = flags.out + "/load-a";
  const std::string load_b = flags.out + "/load-b";
  Say(1, "preprocess: real recordings into features");
  PrepareFeatures(recordings + "/interventional-a.jsonl.xz", load_a, flags.threads);
  PrepareFeatures(recordings + "/interventional-b.jsonl.xz", load_b, flags.threads);

  Say(2, "certify, warm-start and train on load A");
  RunOptions options = DefaultRunOptions();
  options.out = flags.out;
  options.grpo.seed = flags.seed;
  options.threads = flags.threads;
  options.command = fmt::format("kernelx demo --out {} --seed {}", flags.out, flags.seed);
  const RunResult run = TrainWithProgress(LoadTrainingData(load_a, flags.threads), options);

  Say(3, "judge on load B, which it never saw, by what really followed");
  Candidates candidates = LoadCandidates({run.policy_path});
  EvaluationOptions evaluate;
  evaluate.best_constant = candidates.best_constant;
  evaluate.seed = flags.seed;
  evaluate.threads = flags.threads;
  const Evaluation evaluation =
      Evaluate(LoadData(load_b, flags.threads), std::move(candidates.policies), evaluate);
  fmt::print("{}", EvaluationText(evaluation));

  Say(4, "report");
  const ReportInputs report = MakeReport(flags, run, options, evaluation);
  WriteFileAtomically(flags.out + "/report.html", ReportHtml(report));
  WriteFileAtomically(flags.out + "/evaluation.json", EvaluationJson(evaluation) + "\n");
  fmt::print(stderr, "  wrote {0}/report.html, policy.safetensors, metrics.csv, evaluation.json\n",
             flags.out);

  Say(5, "what was shown, and what was not");
  fmt::print("\nShown:\n");
  for (const std::string& line : report.shown) fmt::print("  +{}", Wrap(line, "    ").substr(3));
  fmt::print("Not shown:\n");
  for (const std::string& line : report.not_shown) {
    fmt::print("  -{}", Wrap(line, "    ").substr(3));
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun);
  fmt::print("\nOpen {}/report.html. Took {:.0f} s.\n", flags.out, seconds.count());
}

}  // namespace

void AddDemo(CLI::App& root) {
  auto flags = std::make_shared<Flags>();
  CLI::App& verb = AddVerb(root, "demo", "the main job on the bundled recordings, end to end",
                           "  ./kx demo --out runs/demo --seed 1   (about a minute)\n");
  verb.add_option("--out", flags->out, "run folder")->capture_default_str();
  verb.add_option("--recordings", flags->recordings, "folder of the bundled recordings");
  verb.add_option("--seed", flags->seed, "seed of all that is random")->capture_default_str();
  verb.add_option("--threads", flags->threads, "threads (0: one a core)")->capture_default_str();
  verb.callback([flags] { Run(*flags); });
}

}  // namespace kernelx::cli
