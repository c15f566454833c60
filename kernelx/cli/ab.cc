// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kernelx/ab/experiment.h"
#include "kernelx/ab/report.h"
#include "kernelx/act/probe.h"
#include "kernelx/cli/progress.h"
#include "kernelx/cli/target_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"

namespace kernelx::cli {
namespace {

struct AbFlags {
  std::string load = "hogs";
  std::vector<std::string> policies;
  std::vector<std::string> arms;
  bool no_oracle = false;
  ExperimentOptions options;
  std::string out;
  std::string report;
  std::string replay;
  bool only_load = false;
  double seconds = 10.0;
  bool json = false;
};

/// A policy's name for the table: of a file, its path without what all share.
std::string ArmName(const std::string& policy) {
  const std::filesystem::path path(policy);
  if (path.extension() != ".safetensors") return policy;
  if (path.stem() != "policy") return path.stem();
  const std::string folder = path.parent_path().filename();
  return folder.empty() ? "policy" : folder;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string Ratio(const Interval& interval) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", interval.value, interval.low, interval.high);
}

void Print(const Experiment& experiment, const Judgement& judgement) {
  const ExperimentOptions& o = experiment.options;
  fmt::print("load {}: {}\n", experiment.load.name, experiment.load.what);
  fmt::print("{} blocks of {} arms, windows of {:g} s{}\n\n", judgement.arms.front().blocks,
             experiment.arms.size(), o.window_s, experiment.cut_short ? " (cut short)" : "");
  fmt::print("p99 latency against `default`, geometric mean over the latency groups\n");
  fmt::print("  {:<16}{:>9}{:>10}   {:<23} {}\n", "arm", "p50 us", "p99 us", "ratio, 95 % interval",
             "verdict");
  for (const ArmResult& arm : judgement.arms) {
    fmt::print("  {:<16}{:>9.0f}{:>10.0f}   {:<23} {}\n", arm.name.substr(0, 15), arm.p50_us,
               arm.p99_us, Ratio(arm.ratio), VerdictName(arm.verdict));
  }
  fmt::print("\nwhat the others get, of what they got under `default` (at least {})\n",
             kGuardRatio);
  fmt::print("  {:<16}", "arm");
  for (const Guard& guard : judgement.arms.front().guards) {
    if (guard.what == "cpu") fmt::print("{:>20}", guard.group + " cpu/done");
  }
  fmt::print("\n");
  for (const ArmResult& arm : judgement.arms) {
    fmt::print("  {:<16}", arm.name.substr(0, 15));
    for (size_t i = 0; i + 1 < arm.guards.size(); i += 2) {
      fmt::print("{:>20}",
                 fmt::format("{:.3f}{} {:.3f}{}", arm.guards[i].ratio.value,
                             arm.guards[i].holds() ? " " : "!", arm.guards[i + 1].ratio.value,
                             arm.guards[i + 1].holds() ? " " : "!"));
    }
    fmt::print("\n");
  }
  for (const ArmResult& arm : judgement.arms) {
    if (!arm.against_oracle) continue;
    fmt::print("{}: log-gain - 0.8 x the oracle's: {:+.2f} [{:+.2f}, {:+.2f}]\n", arm.name,
               arm.against_oracle->value, arm.against_oracle->low, arm.against_oracle->high);
  }
  fmt::print("noise of a/a: sd {:.3f} a block; a change of {:.0f} % would be seen in 4 of 5 runs\n",
             judgement.noise_sd, 100 * (judgement.detectable - 1));
}

void Finish(const AbFlags& flags, const Experiment& experiment) {
  const Judgement judgement =
      Judge(experiment.load.groups, experiment.arms, experiment.windows, experiment.options.seed);
  const nlohmann::json json = ToJson(experiment, judgement);
  if (!flags.out.empty()) WriteFileAtomically(flags.out, json.dump() + "\n");
  if (!flags.report.empty()) WriteFileAtomically(flags.report, AbReport(experiment, judgement));
  if (flags.json) {
    fmt::print("{}\n", json.dump());
  } else {
    Print(experiment, judgement);
    fmt::print("\n{}: {}\n", json["judged"].get<std::string>(), json["verdict"].get<std::string>());
    if (!flags.out.empty()) {
      fmt::print("wrote {}; check it: kernelx ab --replay {}\n", flags.out, flags.out);
    }
  }
}

void OnlyLoad(const AbFlags& flags) {
  const Load load(FindLoad(flags.load), flags.options.seed);
  for (double waited = 0.0; waited < flags.seconds && !StopAsked(); waited += 0.05) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const auto samples = load.Sample();
  for (size_t g = 0; g < samples.size(); ++g) {
    fmt::print("{:<12} {:>9} done {:>8.2f} s CPU", load.spec().groups[g].name,
               samples[g].completions, static_cast<double>(samples[g].cpu_ns) / 1e9);
    if (samples[g].latency_us.total() > 0) {
      fmt::print("  latency p50 {:.0f} us, p99 {:.0f} us", samples[g].latency_us.Quantile(0.5),
                 samples[g].latency_us.Quantile(0.99));
    }
    fmt::print("\n");
  }
}

void Replay(const AbFlags& flags) {
  nlohmann::json json = nlohmann::json::parse(ReadFile(flags.replay), nullptr, false);
  const Experiment experiment = ExperimentFromJson(json, flags.replay);
  const Judgement judgement =
      Judge(experiment.load.groups, experiment.arms, experiment.windows, experiment.options.seed);
  nlohmann::json again = ToJson(experiment, judgement);
  for (const char* key : {"arms", "verdict", "ratio", "ci95", "guards", "judged", "noise_sd"}) {
    if (again[key] == json[key]) continue;
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: `{}` is not what its windows give; the file was changed, or another "
                    "version made it",
                    flags.replay, key));
  }
  AbFlags shown = flags;
  shown.out.clear();
  Finish(shown, experiment);
  fmt::print(stderr, "kernelx ab: the verdict of {} follows from its windows, to the digit\n",
             flags.replay);
}

std::vector<std::unique_ptr<Arm>> MakeArms(const AbFlags& flags) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<std::unique_ptr<Arm>> arms;
  arms.push_back(MakeIdleArm(kBaselineArm));
  arms.push_back(MakeIdleArm(kSameArm));
  const std::vector<std::string> live = Words(flags.options.live_flags);
  if (!flags.policies.empty()) {
    std::vector<std::string> noop = live;
    noop.emplace_back("--dry-run");
    arms.push_back(MakeLiveArm(kNoopArm, program, flags.policies[0], noop));
  }
  for (const std::string& policy : flags.policies) {
    arms.push_back(MakeLiveArm(ArmName(policy), program, policy, live));
  }
  for (const std::string& text : flags.arms) {
    const size_t split = text.find('=');
    if (split == std::string::npos) {
      throw Error(ErrorCode::kUsage, fmt::format("--arm {}: write NAME='on;off'", text));
    }
    arms.push_back(MakeCommandArm(text.substr(0, split), text.substr(split + 1)));
  }
  if (!flags.no_oracle) arms.push_back(MakeOracleArm());
  for (size_t i = 0; i < arms.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (arms[i]->name() == arms[k]->name()) {
        throw Error(ErrorCode::kUsage,
                    fmt::format("two arms are called {}; rename a policy file", arms[i]->name()));
      }
    }
  }
  return arms;
}

void Ab(const AbFlags& flags) {
  if (!flags.replay.empty()) return Replay(flags);
  CatchStopSignals();
  if (flags.only_load) return OnlyLoad(flags);
  if (flags.policies.empty() && flags.arms.empty()) {
    throw Error(ErrorCode::kUsage, "ab: what shall be judged? --policy P or --arm NAME='on;off'");
  }
  const LoadSpec& load = FindLoad(flags.load);
  const auto arms = MakeArms(flags);
  if (const ProbeResult probe = ProbeKnobs(); !probe.nice_acts()) {
    throw Error(ErrorCode::kMissingCapability, fmt::format("ab: {}", probe.Text()));
  }
  Progress progress("ab " + load.name, flags.options.blocks * arms.size());
  const Experiment experiment =
      RunExperiment(load, flags.options, arms, StopAsked,
                    [&](size_t done, size_t /*all*/) { progress.Show(done, ""); });
  progress.Finish();
  if (!experiment.trouble.empty()) fmt::print(stderr, "kernelx ab: {}\n", experiment.trouble);
  Finish(flags, experiment);
}

}  // namespace

void AddAb(CLI::App& root) {
  const auto flags = std::make_shared<AbFlags>();
  CLI::App& verb =
      AddVerb(root, "ab", "the verdict: policies against the kernel's default, by experiment",
              "  kernelx ab --load hogs --only-load --seconds 0.5\n"
              "  kernelx ab --policy interactive --load hogs --blocks 2 \\\n"
              "    --window 0.3 --washout 0.2 --warmup 0.2 --out hogs.json\n"
              "  kernelx ab --replay hogs.json\n");
  std::string loads;
  for (const LoadSpec& load : Loads()) loads += (loads.empty() ? "" : ", ") + load.name;
  verb.add_option("--load", flags->load, "built-in load: " + loads)
      ->capture_default_str()
      ->type_name("NAME");
  verb.add_option("--policy", flags->policies,
                  "judge this policy, a name or a file (repeatable; the first is the judged one)")
      ->allow_extra_args(false)
      ->type_name("POLICY");
  verb.add_option("--arm", flags->arms, "judge any set-up, switched by two commands (repeatable)")
      ->allow_extra_args(false)
      ->type_name("NAME='on;off'");
  verb.add_option("--live-flags", flags->options.live_flags,
                  "flags of `kernelx live` for every policy, e.g. '--max-demote 0'")
      ->type_name("TEXT");
  verb.add_flag("--no-oracle", flags->no_oracle,
                "leave out the arm that boosts exactly the right tasks by hand");
  const auto number = [&](const char* flag, auto& value, const char* what, const char* type,
                          double least, double most) {
    verb.add_option(flag, value, what)
        ->capture_default_str()
        ->check(CLI::Range(least, most))
        ->type_name(type);
  };
  number("--blocks", flags->options.blocks, "every arm runs once a block", "N", 2, 100'000);
  number("--window", flags->options.window_s, "measured time of an arm in a block", "S", 0.05, 600);
  number("--washout", flags->options.washout_s, "time before it, not measured", "S", 0, 600);
  number("--warmup", flags->options.warmup_s, "time of the load before the first block", "S", 0,
         600);
  verb.add_option("--seed", flags->options.seed, "of load, order and intervals")
      ->capture_default_str()
      ->type_name("N");
  verb.add_option("--out", flags->out, "write the result with every window's histograms")
      ->type_name("FILE.json");
  verb.add_option("--report", flags->report, "write a page to look at")->type_name("FILE.html");
  verb.add_option("--replay", flags->replay, "judge the windows of a result file again")
      ->type_name("FILE.json");
  verb.add_flag("--only-load", flags->only_load, "run the load and judge nothing");
  verb.add_option("--seconds", flags->seconds, "with --only-load: how long")
      ->capture_default_str()
      ->type_name("S");
  verb.add_flag("--json", flags->json, "the result as JSON");
  verb.callback([flags] { Ab(*flags); });
}

}  // namespace kernelx::cli
