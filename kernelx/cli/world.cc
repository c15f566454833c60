// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "kernelx/cli/progress.h"
#include "kernelx/cli/scenario_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/dataset/builder.h"
#include "kernelx/world/fit.h"
#include "kernelx/world/judge.h"

namespace kernelx::cli {
namespace {

namespace fs = std::filesystem;

struct TrainFlags {
  std::string data, out;
  WorldFitOptions fit;
  bool json = false;
};

void Train(TrainFlags flags) {
  const bool folder = fs::is_directory(flags.data);
  const Dataset data =
      LoadData(folder ? flags.data + "/train.jsonl" : flags.data, flags.fit.threads);
  flags.fit.checkpoint = flags.out + ".part";
  const auto round = static_cast<uint64_t>(flags.fit.epochs + flags.fit.effect_epochs);
  const uint64_t member = round * static_cast<uint64_t>(flags.fit.rounds);
  Progress progress("world", member * flags.fit.members);
  WorldFitReport report;
  WorldModel model = FitWorld(
      data, flags.fit,
      [&](const WorldFitProgress& at) {
        const int before = at.effect ? flags.fit.epochs : 0;
        progress.Show(at.member * member + static_cast<uint64_t>(at.round) * round +
                          static_cast<uint64_t>(before + at.epoch),
                      fmt::format("member {} {} nll {:.3f}", at.member + 1,
                                  at.effect ? "effect" : "base", at.held_out));
      },
      &report);
  progress.Finish();
  model.provenance["data"] = data.source();
  model.provenance["version"] = KERNELX_VERSION;
  model.Save(flags.out);
  if (flags.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"model", flags.out},
                                              {"rows", report.rows},
                                              {"randomised_rows", report.randomised_rows},
                                              {"tasks", report.tasks},
                                              {"dropped", report.dropped},
                                              {"overflow", report.overflow},
                                              {"seconds", report.seconds}}
                           .dump());
    return;
  }
  fmt::print("learnt from {} events of {} tasks, the action's effect from {} drawn and in force\n",
             report.rows, report.tasks, report.randomised_rows);
  if (report.dropped > 0)
    fmt::print("left out {} rows whose counters ran backwards\n", report.dropped);
  if (report.randomised_rows == 0) {
    fmt::print("no action was drawn at random: the model claims no effect of it\n");
  }
  fmt::print("wrote {} in {:.0f} s\njudge it: kernelx world eval --model {} --data ...\n",
             flags.out, report.seconds, flags.out);
}

void AddWorldTrain(CLI::App& world) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App& verb = AddVerb(world, "train", "fit an ensemble to recorded transitions",
                           "  kernelx world train --data data/sample/test.jsonl.zst \\\n"
                           "    --out /tmp/kx-world.safetensors --epochs 1\n");
  verb.add_option("--data", flags->data, "folder of processed splits (train is used), or one file")
      ->required();
  verb.add_option("--out", flags->out, "the model, a .safetensors file")->required();
  verb.add_option("--seed", flags->fit.seed, "seed of all that is random")->capture_default_str();
  verb.add_option("--members", flags->fit.members, "of the ensemble")->capture_default_str();
  verb.add_option("--epochs", flags->fit.epochs, "of a member, at most")->capture_default_str();
  verb.add_option("--rounds", flags->fit.rounds, "of base and effect in turn")
      ->capture_default_str();
  verb.add_option("--rows-per-epoch", flags->fit.rows_per_epoch, "at most; 0: all")
      ->capture_default_str();
  verb.add_option("--threads", flags->fit.threads, "threads (0: one a core)")
      ->capture_default_str();
  verb.add_flag("--json", flags->json, "print the summary as JSON");
  verb.callback([flags] { Train(*flags); });
}

struct EvalFlags {
  std::string model, data, fit;
  JudgeOptions options;
  bool json = false;
};

using Json = nlohmann::ordered_json;

Json ToJson(const Measured& m) { return {{"value", m.value}, {"ci95", {m.low, m.high}}}; }

Json ToJson(const PredictionReport& report) {
  Json scores = Json::array();
  for (const PredictorScore& s : report.scores) {
    scores.push_back({{"name", s.name},
                      {"nll", s.nll},
                      {"crps", s.crps},
                      {"mae", s.mae},
                      {"nll_gain", ToJson(s.nll_gain)},
                      {"crps_gain", ToJson(s.crps_gain)}});
  }
  return {{"of", report.rows_name},
          {"rows", report.rows},
          {"tasks", report.tasks},
          {"scores", scores},
          {"coverage",
           {{"50", ToJson(report.cover50)},
            {"80", ToJson(report.cover80)},
            {"95", ToJson(report.cover95)}}},
          {"p99_exceeded", report.p99_exceeded}};
}

Json ToJson(const EffectReport& report) {
  Json cells = Json::array();
  for (const EffectCell& c : report.cells) {
    cells.push_back({{"comm", c.comm},
                     {"action", c.action},
                     {"rows", c.rows},
                     {"tasks", c.tasks},
                     {"model", c.model},
                     {"data", ToJson(c.data)},
                     {"judged", c.judged()},
                     {"inside", c.inside()}});
  }
  Json slopes = Json::array();
  for (const EffectSlope& s : report.slopes) {
    slopes.push_back({{"comm", s.comm},
                      {"rows", s.rows},
                      {"tasks", s.tasks},
                      {"model", s.model},
                      {"data", ToJson(s.data)}});
  }
  return {{"outcome", report.outcome}, {"cells", cells}, {"slopes", slopes}};
}

void Print(const PredictionReport& report) {
  fmt::print("\nln(1 + next wait us), {}: {} rows of {} tasks\n", report.rows_name, report.rows,
             report.tasks);
  if (report.scores.empty()) return;
  fmt::print("  {:<18} {:>7} {:>7} {:>7}   {:>26}\n", "", "nll", "crps", "mae",
             "model saves, nll (95 %)");
  for (const PredictorScore& s : report.scores) {
    fmt::print("  {:<18} {:>7.3f} {:>7.3f} {:>7.3f}", s.name, s.nll, s.crps, s.mae);
    if (&s != &report.scores.front()) {
      fmt::print("   {:>+9.3f} {:>+7.3f} ..{:>+7.3f}", s.nll_gain.value, s.nll_gain.low,
                 s.nll_gain.high);
    }
    fmt::print("\n");
  }
  fmt::print(
      "  intervals of 50/80/95 % cover {:.1f} / {:.1f} / {:.1f} %; beyond the 99 % quantile "
      "{:.2f} %\n",
      100 * report.cover50.value, 100 * report.cover80.value, 100 * report.cover95.value,
      100 * report.p99_exceeded);
}

void Print(const EffectReport& report) {
  size_t judged = 0, inside = 0, significant = 0, right = 0;
  for (const EffectCell& c : report.cells) {
    if (c.comm == "(all)" || !c.judged()) continue;
    ++judged;
    inside += c.inside() ? 1 : 0;
  }
  fmt::print("\nEffect of the action on {}, drawn and in force, by command\n", report.outcome);
  fmt::print("  {:<16} {:>6} {:>6} {:>8} {:>9} {:>18}\n", "command", "rows", "tasks", "model",
             "recording", "95 % interval");
  for (const EffectSlope& s : report.slopes) {
    if (s.significant()) ++significant, right += s.sign_right() ? 1 : 0;
    fmt::print("  {:<16} {:>6} {:>6} {:>+8.2f} {:>+9.2f} {:>+9.2f} ..{:>+6.2f}\n", s.comm, s.rows,
               s.tasks, s.model, s.data.value, s.data.low, s.data.high);
  }
  fmt::print("  sign right in {} of {} with a significant slope\n", right, significant);
  fmt::print(
      "  means at -0.8 .. 0.8: {} of {} cells with 20 tasks or more lie in the recording's "
      "interval\n",
      inside, judged);
  for (const EffectCell& c : report.cells) {
    fmt::print(
        "    {:<16} {:>+5.1f} {:>5} rows {:>4} tasks {:>+7.2f}  {:>+7.2f} {:>+7.2f} "
        "..{:>+6.2f}  {}\n",
        c.comm, c.action, c.rows, c.tasks, c.model, c.data.value, c.data.low, c.data.high,
        c.judged() ? (c.inside() ? "inside" : "OUTSIDE") : "not judged");
  }
}

/// What the model never saw of a folder: all of it, unless its train split is what it learnt from.
Dataset JudgedRows(const EvalFlags& flags, const std::string& learnt_from) {
  if (!fs::is_directory(flags.data)) return LoadData(flags.data, flags.options.threads);
  const Dataset train = LoadData(flags.data + "/train.jsonl", flags.options.threads);
  if (train.digest() != learnt_from) return LoadData(flags.data, flags.options.threads);
  fmt::print(stderr, "the model learnt from this folder's train split: judging on val and test\n");
  DatasetBuilder builder(train.feature_names());
  builder.set_sidecar(train.sidecar());
  builder.set_source(flags.data + " (val, test)");
  for (const char* split : {"/val.jsonl", "/test.jsonl"}) {
    if (fs::exists(flags.data + split) && fs::file_size(flags.data + split) > 0) {
      builder.Append(LoadData(flags.data + split, flags.options.threads));
    }
  }
  return std::move(builder).Build();
}

void Eval(const EvalFlags& flags) {
  const WorldModel model = WorldModel::Load(flags.model);
  const auto digest = model.provenance.find("data_digest");
  const Dataset judged = JudgedRows(flags, digest == model.provenance.end() ? "" : digest->second);
  const std::string fit = flags.fit.empty() ? flags.data : flags.fit;
  const Dataset train =
      LoadData(fs::is_directory(fit) ? fit + "/train.jsonl" : fit, flags.options.threads);
  const WorldReport report = JudgeWorld(model, train, judged, flags.options);
  const ForwardRate rate = MeasureForward(model);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double megabytes = static_cast<double>(usage.ru_maxrss) / 1024.0;
  if (flags.json) {
    Json prediction = Json::array(), effects = Json::array();
    for (const auto& p : report.prediction) prediction.push_back(ToJson(p));
    for (const auto& e : report.effects) effects.push_back(ToJson(e));
    fmt::print("{}\n", Json{{"prediction", prediction},
                            {"effects", effects},
                            {"placebo", ToJson(report.placebo.data)},
                            {"forward_gflops", rate.ours},
                            {"sgemm_gflops", rate.sgemm},
                            {"peak_mb", megabytes}}
                           .dump());
    return;
  }
  for (const auto& p : report.prediction) Print(p);
  for (const auto& e : report.effects) Print(e);
  if (!report.effects.empty()) {
    fmt::print("\nPlacebo, the wait before the draw: slope {:+.3f} [{:+.3f}, {:+.3f}]\n",
               report.placebo.data.value, report.placebo.data.low, report.placebo.data.high);
  }
  fmt::print(
      "\nForward pass of a member: {:.1f} GFLOP/s on one core; Eigen's product on the same "
      "shapes {:.1f}\npeak memory {:.0f} MB\n",
      rate.ours, rate.sgemm, megabytes);
}

void AddWorldEval(CLI::App& world) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App& verb =
      AddVerb(world, "eval", "its errors beside simple predictors', its effect beside the data's",
              "  kernelx world eval --model /tmp/kx-world.safetensors \\\n"
              "    --data data/sample/test.jsonl.zst\n");
  verb.add_option("--model", flags->model, "a model of world train")->required();
  verb.add_option("--data", flags->data, "rows to judge on: a folder of splits, or one file")
      ->required();
  verb.add_option(
      "--fit", flags->fit,
      "what the baselines learn from: the model's own training folder (default --data)");
  verb.add_option("--rows", flags->options.judged_rows, "judged, at most, by lot")
      ->capture_default_str();
  verb.add_option("--seed", flags->options.seed, "seed of the lot")->capture_default_str();
  verb.add_option("--threads", flags->options.threads, "threads (0: one a core)")
      ->capture_default_str();
  verb.add_flag("--json", flags->json, "print the report as JSON");
  verb.callback([flags] { Eval(*flags); });
}

}  // namespace

void AddWorld(CLI::App& root) {
  CLI::App& world = *root.add_subcommand("world", "the World Model: train it, judge it");
  world.require_subcommand(1);
  AddWorldTrain(world);
  AddWorldEval(world);
}

}  // namespace kernelx::cli
