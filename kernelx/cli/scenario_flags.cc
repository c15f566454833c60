// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/cli/scenario_flags.h"

#include <fmt/format.h>

#include <utility>

#include "kernelx/dataset/reader.h"

namespace kernelx::cli {

void ScenarioFlags::AddTo(CLI::App& verb, const std::string& default_dynamics) {
  options.dynamics = default_dynamics;
  verb.add_option("--data", data, "processed rows: a .jsonl file or a folder of splits")
      ->required();
  verb.add_option("--dynamics", options.dynamics,
                  "what gives the next state: replay, nearest or nearest-state")
      ->capture_default_str();
  verb.add_option("--order", order, "which row follows: task or recorded")->capture_default_str();
  verb.add_option("--reward", options.reward, "reward preset: balanced or seed")
      ->capture_default_str();
  verb.add_option("--hold", options.hold,
                  "events one decision stands (default 5; 1 with reward seed or order recorded)");
  verb.add_option("--max-steps", options.max_steps, "decisions an episode")->capture_default_str();
  verb.add_option("--alpha", options.reward_options.alpha, "seed reward: weight of throughput")
      ->capture_default_str();
  verb.add_option("--beta", options.reward_options.beta, "seed reward: weight of latency")
      ->capture_default_str();
  verb.add_option("--gamma", options.reward_options.gamma, "seed reward: weight of stability")
      ->capture_default_str();
  verb.add_option("--price", options.reward_options.price,
                  "balanced reward: price of the CPU share")
      ->capture_default_str();
  verb.add_option("--seed", seed, "seed of all that is random")->capture_default_str();
  verb.add_option("--threads", options.threads, "threads (0: one a core)")->capture_default_str();
}

Dataset ScenarioFlags::Load() const { return LoadData(data, options.threads); }

std::shared_ptr<const Scenario> ScenarioFlags::Make(Dataset dataset) const {
  ScenarioOptions complete = options;
  complete.order = ParseOrder(order);
  return std::make_shared<const Scenario>(std::move(dataset), complete);
}

Dataset LoadData(const std::string& path, unsigned threads) {
  ReadOptions options;
  options.threads = threads;
  ReadReport report;
  Dataset dataset = LoadDataset(path, options, &report);
  for (const std::string& note : report.notes) fmt::print(stderr, "note: {}: {}\n", path, note);
  return dataset;
}

}  // namespace kernelx::cli
