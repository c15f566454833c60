// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/writer.h"
#include "kernelx/env/runqueue_effect.h"
#include "kernelx/env/runqueue_recorder.h"
#include "kernelx/evaluate/coverage.h"
#include "kernelx/ground/error.h"

namespace kernelx::cli {
namespace {

struct Flags {
  std::string out;
  std::vector<std::string> effects;
  std::string bursts;
  double seconds = 20.0;
  LoadCounts counts;
  ExploreLaw law;
  size_t coverage = 0;
  std::string design = "sample";
  uint64_t seed = 1;
  unsigned threads = 0;
};

RunQueueLoad MakeLoad(const Flags& flags) {
  RunQueueLoad load = MixedLoad(flags.seed, flags.counts);
  if (flags.bursts.empty()) return load;
  const auto rows = ReadRaw(flags.bursts);
  const auto bursts = RecordedBursts(rows, "sched-messaging");
  for (TaskSpec& task : load.tasks) {
    if (task.kind == TaskKind::kMessaging) task.burst.recorded = bursts;
  }
  return load;
}

std::vector<RawTransition> Simulate(const Flags& flags) {
  return RecordRunQueue(std::make_shared<const RunQueueLoad>(MakeLoad(flags)), flags.seed,
                        flags.seconds, flags.law);
}

void Record(const Flags& flags) {
  const auto rows = Simulate(flags);
  RawWriter writer(flags.out);
  writer.AppendText(FormatRaw(rows));
  writer.Commit();
  size_t drawn = 0;
  size_t in_force = 0;
  for (const RawTransition& row : rows) {
    drawn += row.behavior.drawn ? 1 : 0;
    in_force += row.behavior.drawn && row.applied.in_force ? 1 : 0;
  }
  fmt::print("simulated, not recorded: {} rows over {:g} s, {} draws ({} in force) -> {}\n",
             rows.size(), flags.seconds, drawn, in_force, flags.out);
}

void PrintEffects(const std::string& title, const std::vector<ActionEffect>& effects) {
  fmt::print("\n{}\n", title);
  fmt::print("  {:<15} {:<6} {:>6} {:>6} {:>16} {:>7} {:>16}  {}\n", "kind", "mode", "draws",
             "wait", "95%", "share", "95%", "mean wait us at -0.8 -0.4 0 0.4 0.8");
  for (const ActionEffect& e : effects) {
    fmt::print(
        "  {:<15} {:<6} {:>6} {:>+6.2f} {:>+7.2f} ..{:>+6.2f} {:>+7.2f} {:>+7.2f} ..{:>+6.2f} ",
        e.kind, e.mode == DrawMode::kTask ? "task" : "group", e.draws, e.wait.slope,
        e.wait.slope - 1.96 * e.wait.se, e.wait.slope + 1.96 * e.wait.se, e.share.slope,
        e.share.slope - 1.96 * e.share.se, e.share.slope + 1.96 * e.share.se);
    for (const double wait : e.mean_wait_us) fmt::print(" {:.0f}", wait);
    fmt::print("\n");
  }
}

void CompareEffects(const Flags& flags) {
  fmt::print(
      "Change of ln(1 + wait us) at the next event, and of ln CPU share over 5 events, per\n"
      "unit of action; drawn rows in force; intervals clustered by task (mode task) or by\n"
      "command and window (mode group)\n");
  PrintEffects(fmt::format("simulated, {:g} s", flags.seconds), MeasureEffects(Simulate(flags)));
  for (const std::string& path : flags.effects) {
    PrintEffects(path, MeasureEffects(ReadRaw(path)));
  }
}

CoverageDesign ParseDesign(const std::string& name) {
  for (const auto design :
       {CoverageDesign::kSample, CoverageDesign::kMix, CoverageDesign::kMixByLot}) {
    if (name == CoverageDesignName(design)) return design;
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("--design: \"{}\" is unknown; use sample, mix or mix-by-lot", name));
}

void PrintCovered(const char* name, const Covered& c) {
  fmt::print("  {:<22} {:>+8.4f} {:>7.4f} {:>+8.4f} {:>7.4f} {:>10.4f} {:>8.1f} %\n", name, c.truth,
             c.truth_se, c.mean, c.sd, c.half_width, 100 * c.rate());
}

void Cover(const Flags& flags) {
  CoverageOptions options{.design = ParseDesign(flags.design), .repetitions = flags.coverage};
  options.truth_loads = std::clamp<size_t>(flags.coverage / 2, 20, 500);
  options.seed = flags.seed;
  options.threads = flags.threads;
  fmt::print(stderr, "truth by simulation, then {} recordings ...\n", flags.coverage);
  const CoverageResult r = MeasureCoverage(options, [&](size_t done) {
    if (done % 50 == 0) fmt::print(stderr, "\r{} of {} recordings", done, flags.coverage);
  });
  fmt::print(stderr, "\n");
  fmt::print(
      "design {}: {} recordings of {:g} s, {:.0f} events, {:.0f} draws judged each, ESS "
      "{:.0f}\n",
      flags.design, flags.coverage, options.seconds, r.events, r.rows, r.ess);
  fmt::print("  {:<22} {:>8} {:>7} {:>8} {:>7} {:>10} {:>10}\n", "one task deviates", "truth", "se",
             "mean", "sd", "half width", "covered");
  PrintCovered("doubly robust, gain", r.gain);
  PrintCovered("doubly robust, value", r.value);
  PrintCovered("naive replay, gain", r.replay_gain);
  PrintCovered("naive replay, value", r.replay);
  fmt::print(
      "  logging policy {:+.4f}; everyone follows the policy {:+.4f} (se {:.4f}), which is "
      "another question\n",
      r.logging, r.roll_out, r.roll_out_se);
}

void Run(const Flags& flags) {
  if (!(flags.seconds > 0.0 && flags.seconds <= 3600.0)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--seconds is {}; give more than 0 and at most 3600", flags.seconds));
  }
  if (flags.out.empty() && flags.effects.empty() && flags.coverage == 0) {
    throw Error(ErrorCode::kUsage,
                "runqueue: nothing to do; give --out FILE, --effects RECORDING or --coverage N");
  }
  if (!flags.out.empty()) Record(flags);
  if (!flags.effects.empty()) CompareEffects(flags);
  if (flags.coverage > 0) Cover(flags);
}

}  // namespace

void AddRunqueue(CLI::App& root) {
  auto flags = std::make_shared<Flags>();
  CLI::App& verb =
      AddVerb(root, "runqueue", "a simulated recording with draws, and what it is good for",
              "  kernelx runqueue --out /tmp/kx-simulated.jsonl.zst --seconds 2\n"
              "  kernelx runqueue --seconds 5 --effects data/interventional-b.jsonl.xz\n"
              "  kernelx runqueue --coverage 2\n");
  verb.add_option("--out", flags->out, "write a recording: .jsonl, .gz, .xz or .zst");
  verb.add_option("--effects", flags->effects,
                  "the action's effect, simulated and in these recordings");
  verb.add_option("--coverage", flags->coverage,
                  "judge so many simulated recordings: do the intervals cover the truth?");
  verb.add_option("--design", flags->design, "of --coverage: sample, mix or mix-by-lot")
      ->capture_default_str();
  verb.add_option("--seconds", flags->seconds, "simulated time")->capture_default_str();
  verb.add_option("--periodic", flags->counts.periodic, "periodic tasks")->capture_default_str();
  verb.add_option("--servers", flags->counts.servers, "server tasks")->capture_default_str();
  verb.add_option("--hogs", flags->counts.hogs, "tasks that never sleep")->capture_default_str();
  verb.add_option("--crowd", flags->counts.crowd, "tasks of the messaging crowd")
      ->capture_default_str();
  verb.add_option("--messages", flags->counts.messages, "under way in the crowd")
      ->capture_default_str();
  verb.add_option("--bursts", flags->bursts, "take the crowd's bursts from this recording");
  verb.add_option("--explore", flags->law.p_draw, "probability of a draw at an event")
      ->capture_default_str();
  verb.add_option("--group-share", flags->law.group_share, "of windows that draw for groups")
      ->capture_default_str();
  verb.add_option("--seed", flags->seed, "seed of all that is random")->capture_default_str();
  verb.add_option("--threads", flags->threads, "threads (0: one a core)")->capture_default_str();
  verb.callback([flags] { Run(*flags); });
}

}  // namespace kernelx::cli
