// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <string>

#include "kernelx/cli/scenario_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/env/reward.h"
#include "kernelx/evaluate/json.h"
#include "kernelx/ope/certificate.h"

namespace kernelx::cli {
namespace {

struct Flags {
  std::string data;
  std::string reward = "balanced";
  CertificateOptions options;
  bool json = false;
};

void Print(const Certificate& certificate) {
  fmt::print("verdict: {}\n  {}\n", VerdictName(certificate.verdict), certificate.why);
  fmt::print("  {} randomised rows of {} tasks; propensities {}\n", certificate.rows,
             certificate.tasks, certificate.propensities_known ? "known" : "not recorded");
  if (certificate.outcomes.empty()) return;
  fmt::print("\nChange of ln(1 + us) per unit of action, after one event\n");
  fmt::print("  {:<12} {:>18} {:>8} {:>8}   {:>10} {:>16}\n", "outcome", certificate.dynamics,
             "null 95%", "p", "recording", "95% interval");
  for (const Effect& e : certificate.outcomes) {
    fmt::print("  {:<12} {:>+18.3f} {:>8.3f} {:>8.3f}   {:>+10.3f} {:>+7.2f} ..{:>+6.2f}\n", e.name,
               e.effect, e.null95, e.p, e.data_effect, e.data_low, e.data_high);
  }
  const Effect& placebo = certificate.placebo;
  fmt::print("  {:<12} {:>18} {:>8.3f} {:>8.3f}   {:>+10.3f} {:>+7.2f} ..{:>+6.2f}  {}\n",
             "wait before", "(placebo)", placebo.null95, placebo.data_p, placebo.data_effect,
             placebo.data_low, placebo.data_high,
             certificate.placebo_ok ? "null, as it must" : "NOT NULL");
  if (certificate.groups.empty()) return;
  fmt::print("\nEffect on the wait by command (names are for judging only)\n");
  fmt::print("  {:<18} {:>8} {:>10} {:>12} {:>16}\n", "command", "rows", certificate.dynamics,
             "recording", "95% interval");
  for (const GroupEffect& g : certificate.groups) {
    fmt::print("  {:<18} {:>8} {:>+10.2f} {:>+12.2f} {:>+7.2f} ..{:>+6.2f}\n", g.comm, g.rows,
               g.effect, g.data_effect, g.data_low, g.data_high);
  }
}

void Run(const Flags& flags) {
  MakeReward(flags.reward);  // refuses an unknown preset; the certificate itself reads no reward
  const Certificate certificate =
      CheckEnv(LoadData(flags.data, flags.options.threads), flags.options);
  if (flags.json) {
    fmt::print("{}\n", JsonText(ToJson(certificate)));
  } else {
    Print(certificate);
  }
}

}  // namespace

void AddCheckEnv(CLI::App& root) {
  auto flags = std::make_shared<Flags>();
  CLI::App& verb =
      AddVerb(root, "check-env", "the certificate: does the action move the outcome?",
              "  kernelx check-env --data data/sample/test.jsonl.zst --dynamics replay\n"
              "  kernelx check-env --data data/sample/test.jsonl.zst --json\n");
  verb.add_option("--data", flags->data, "processed rows: a .jsonl file or a folder of splits")
      ->required();
  verb.add_option("--dynamics", flags->options.dynamics, "replay, nearest or nearest-state")
      ->capture_default_str();
  verb.add_option("--reward", flags->reward,
                  "accepted for any preset: the verdict rests on outcomes, not on the reward")
      ->capture_default_str();
  verb.add_option("--permutations", flags->options.permutations, "of the logged actions")
      ->capture_default_str();
  verb.add_option("--seed", flags->options.seed, "seed of all that is random")
      ->capture_default_str();
  verb.add_option("--threads", flags->options.threads, "threads (0: one a core)")
      ->capture_default_str();
  verb.add_flag("--json", flags->json, "print the certificate as JSON");
  verb.callback([flags] { Run(*flags); });
}

}  // namespace kernelx::cli
