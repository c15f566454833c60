// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernelx/cli/evaluate_flags.h"
#include "kernelx/cli/scenario_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/evaluate/conclusions.h"
#include "kernelx/evaluate/evaluation.h"
#include "kernelx/evaluate/report.h"
#include "kernelx/ground/file.h"
#include "kernelx/ope/certificate.h"
#include "kernelx/policy/mlp_policy.h"
#include "kernelx/policy/registry.h"

namespace kernelx::cli {
namespace {

struct Flags {
  std::vector<std::string> policies;
  std::string data;
  EvaluationOptions options;
  bool in_force = false;
  std::string report;
  bool json = false;
};

void Run(Flags flags) {
  if (flags.in_force) flags.options.scope = DrawScope::kInForce;
  Candidates candidates = LoadCandidates(flags.policies);
  if (candidates.best_constant) flags.options.best_constant = candidates.best_constant;
  std::vector<std::string> judged;
  for (const auto& policy : candidates.policies) judged.push_back(policy->name());
  const Dataset data = LoadData(flags.data, flags.options.threads);
  const Evaluation evaluation = Evaluate(data, std::move(candidates.policies), flags.options);
  if (!flags.report.empty()) {
    ReportInputs inputs;
    inputs.title = "Policies on " + data.source();
    inputs.evaluation = &evaluation;
    const Certificate certificate =
        CheckEnv(data, {.dynamics = flags.options.dynamics, .threads = flags.options.threads});
    inputs.certificate = &certificate;
    for (const std::string& name : judged) {
      Conclusions conclusions = Conclude(evaluation, name);
      std::ranges::move(conclusions.shown, std::back_inserter(inputs.shown));
      for (std::string& line : conclusions.not_shown) {
        if (std::ranges::find(inputs.not_shown, line) == inputs.not_shown.end()) {
          inputs.not_shown.push_back(std::move(line));
        }
      }
    }
    inputs.command = fmt::format("kernelx evaluate --policy {} --data {}",
                                 fmt::join(flags.policies, " "), flags.data);
    WriteFileAtomically(flags.report, ReportHtml(inputs));
    fmt::print(stderr, "wrote {}\n", flags.report);
  }
  fmt::print("{}", flags.json ? EvaluationJson(evaluation) + "\n" : EvaluationText(evaluation));
}

}  // namespace

Candidates LoadCandidates(const std::vector<std::string>& names) {
  Candidates out;
  for (const std::string& name : names) {
    if (name.ends_with(kPolicyFileSuffix)) {
      auto policy = std::make_unique<MlpPolicy>(MlpPolicy::Load(name));
      const auto& provenance = policy->spec().provenance;
      if (const auto found = provenance.find("best_constant"); found != provenance.end()) {
        out.best_constant = std::stod(found->second);
      }
      if (names.size() > 1) policy->mutable_spec().name = name;
      out.policies.push_back(std::move(policy));
    } else {
      out.policies.push_back(MakePolicy(name));
    }
  }
  return out;
}

void AddEvaluate(CLI::App& root) {
  auto flags = std::make_shared<Flags>();
  CLI::App& verb = AddVerb(root, "evaluate", "judge policies by logged outcomes of drawn actions",
                           "  kernelx evaluate --policy interactive --data "
                           "data/sample/test.jsonl.zst\n");
  verb.add_option("--policy", flags->policies,
                  "policy files or names: interactive, constant:-0.4, ...")
      ->required();
  verb.add_option("--data", flags->data, "processed rows: a .jsonl file or a folder of splits")
      ->required();
  verb.add_option("--dynamics", flags->options.dynamics,
                  "whose opinion is shown beside the judge's: nearest, replay, nearest-state")
      ->capture_default_str();
  verb.add_option("--reward", flags->options.reward, "balanced or seed")->capture_default_str();
  verb.add_option("--price", flags->options.reward_options.price,
                  "balanced reward: price of the CPU share")
      ->capture_default_str();
  verb.add_option("--hold", flags->options.hold, "events one decision stands")
      ->capture_default_str();
  verb.add_option("--best-constant", flags->options.best_constant,
                  "the constant action to beat (default: from the policy file)");
  verb.add_flag("--in-force", flags->in_force, "judge only draws in force at the next event");
  verb.add_option("--seed", flags->options.seed, "seed of the resampling")->capture_default_str();
  verb.add_option("--threads", flags->options.threads, "threads (0: one a core)")
      ->capture_default_str();
  verb.add_option("--report", flags->report, "write a self-contained HTML page");
  verb.add_flag("--json", flags->json, "print everything as JSON");
  verb.callback([flags] { Run(*flags); });
}

}  // namespace kernelx::cli
