// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/cli/scenario_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/env/vector_env.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"
#include "kernelx/policy/registry.h"

namespace kernelx::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  ScenarioFlags scenario;
  std::optional<uint64_t> start_index;
  std::string actions;
  std::string policy;
  size_t episodes = 1;
  bool json = false;
};

/// One float a line; blank lines are skipped.
std::vector<double> ReadActions(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::kFile, path + ": cannot read; check the path");
  std::vector<double> actions;
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty()) continue;
    char* end = nullptr;
    actions.push_back(std::strtod(line.c_str(), &end));
    if (end != line.c_str() + line.size() || !std::isfinite(actions.back())) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("{}:{}: \"{}\" is not an action; write one float a line", path,
                              number, line));
    }
  }
  if (actions.empty()) throw Error(ErrorCode::kBadInput, path + ": no action; write one a line");
  return actions;
}

/// Where actions come from: a file, line by line, or a policy.
class Actor {
 public:
  Actor(const Flags& flags, const Dataset& dataset) : rng_(flags.scenario.seed, 7) {
    if (!flags.actions.empty()) {
      actions_ = ReadActions(flags.actions);
      return;
    }
    policy_ = MakePolicy(flags.policy.empty() ? "none" : flags.policy);
    policy_->Bind(dataset.feature_names());
  }
  /// False when the file has no more actions.
  bool More() const { return policy_ != nullptr || next_ < actions_.size(); }
  double Next(std::span<const double> features) {
    return policy_ != nullptr ? policy_->Law(features).Sample(rng_) : actions_[next_++];
  }

 private:
  Rng rng_;
  std::unique_ptr<Policy> policy_;
  std::vector<double> actions_;
  size_t next_ = 0;
};

Json StepJson(const VectorEnv& env, size_t episode, double action) {
  Json reward = {{"total", env.total()[0]}};
  const auto terms = env.scenario().reward().terms();
  for (size_t t = 0; t < terms.size(); ++t) reward[std::string(terms[t])] = env.term(t)[0];
  return {{"episode", episode},
          {"t", env.episode(0).timestep},
          {"action", action},
          {"reward", reward},
          {"next",
           {{"features", env.features(0)},
            {"pid", env.pid(0)},
            {"cpu", env.cpu(0)},
            {"timestep", env.episode(0).timestep},
            {"prev_action", env.episode(0).previous_action}}},
          {"terminated", env.terminated()[0] != 0},
          {"truncated", env.truncated()[0] != 0}};
}

void PrintEpisode(const VectorEnv& env, size_t episode, double sum,
                  const std::vector<double>& terms) {
  fmt::print("episode {:4}  row {:8}  steps {:3}  return {:+10.4f} ", episode,
             env.episode(0).origin, env.episode(0).timestep, sum);
  const auto names = env.scenario().reward().terms();
  for (size_t t = 0; t < names.size(); ++t) fmt::print(" {} {:+.3f}", names[t], terms[t]);
  fmt::print("\n");
}

void Run(const Flags& flags) {
  const auto scenario = flags.scenario.Make(flags.scenario.Load());
  Actor actor(flags, scenario->dataset());
  VectorEnv env(scenario, 1, flags.scenario.seed);
  for (size_t episode = 0; episode < flags.episodes && actor.More(); ++episode) {
    env.Reset(0, flags.start_index);
    double sum = 0.0;
    std::vector<double> terms(scenario->reward().terms().size(), 0.0);
    while (env.episode(0).status == EpisodeState::Status::kRunning && actor.More()) {
      const double action = actor.Next(env.features(0));
      env.Step({&action, 1});
      sum += env.total()[0];
      for (size_t t = 0; t < terms.size(); ++t) terms[t] += env.term(t)[0];
      if (flags.json) fmt::print("{}\n", StepJson(env, episode, action).dump());
    }
    if (!flags.json) PrintEpisode(env, episode, sum, terms);
  }
  if (scenario->dynamics().action_blind() && !flags.json) {
    fmt::print(
        "note: dynamics {} is blind to the action; these returns cannot tell what an action "
        "does\n",
        scenario->dynamics().name());
  }
}

}  // namespace

void AddRollout(CLI::App& root) {
  auto flags = std::make_shared<Flags>();
  CLI::App& verb =
      AddVerb(root, "rollout", "run episodes and print what happened",
              "  kernelx rollout --data data/sample/test.jsonl.zst --policy interactive \\\n"
              "      --episodes 3\n"
              "  kernelx rollout --data data/sample/test.jsonl.zst --dynamics replay \\\n"
              "      --order recorded --reward seed --start-index 0 --json\n");
  flags->scenario.AddTo(verb, "nearest");
  verb.add_option("--start-index", flags->start_index,
                  "row the episodes start at (default: drawn)");
  auto* actions = verb.add_option("--actions", flags->actions, "file of actions, one float a line");
  verb.add_option("--policy", flags->policy,
                  fmt::format("{} or a .safetensors file", fmt::join(PolicyNames(), ", ")))
      ->excludes(actions);
  verb.add_option("--episodes", flags->episodes, "how many episodes")->capture_default_str();
  verb.add_flag("--json", flags->json, "one JSON line a step");
  verb.callback([flags] { Run(*flags); });
}

}  // namespace kernelx::cli
