// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernelx/cli/scenario_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/ground/error.h"

namespace kernelx::cli {
namespace {

struct Query {
  std::vector<double> state;
  double action = 0.0;
};

[[noreturn]] void Bad(size_t line, const std::string& what) {
  throw Error(ErrorCode::kBadInput, fmt::format("stdin:{}: {}", line, what));
}

Query ParseQuery(const std::string& text, size_t line, size_t features) {
  Query query;
  try {
    const auto object = nlohmann::json::parse(text);
    query.state = object.at("state").get<std::vector<double>>();
    if (object.contains("action")) query.action = object.at("action").get<double>();
  } catch (const nlohmann::json::exception& error) {
    Bad(line, fmt::format("{}; write {{\"state\":[...],\"action\":x}} a line", error.what()));
  }
  if (query.state.size() != features) {
    Bad(line, fmt::format("{} values in \"state\", but the dataset has {} features",
                          query.state.size(), features));
  }
  for (const double value : query.state) {
    if (!std::isfinite(value)) Bad(line, "a value in \"state\" is not finite");
  }
  if (!std::isfinite(query.action)) Bad(line, "\"action\" is not finite");
  return query;
}

void Run(const ScenarioFlags& flags, bool json) {
  const auto scenario = flags.Make(flags.Load());
  std::string text;
  for (size_t line = 1; std::getline(std::cin, text); ++line) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Query query = ParseQuery(text, line, scenario->feature_count());
    const Simulated answer =
        scenario->dynamics().Simulate(query.state, std::clamp(query.action, -1.0, 1.0));
    if (json) {
      const nlohmann::ordered_json out = {{"next_state", answer.next_state},
                                          {"distance", answer.distance}};
      fmt::print("{}\n", out.dump());
      continue;
    }
    fmt::print("distance {:.6g}\n", answer.distance);
    const auto& names = scenario->dataset().feature_names();
    for (size_t i = 0; i < names.size(); ++i) {
      fmt::print("  {:<18} {:>16.6g} -> {:<16.6g}\n", names[i], query.state[i],
                 answer.next_state[i]);
    }
  }
}

}  // namespace

void AddSimulate(CLI::App& root) {
  auto flags = std::make_shared<ScenarioFlags>();
  auto json = std::make_shared<bool>(false);
  CLI::App& verb = AddVerb(root, "simulate", "next state for states given on stdin",
                           "  zstdcat data/sample/test.jsonl.zst | head -n1 | \\\n"
                           "      kernelx simulate --data data/sample/test.jsonl.zst\n"
                           "  zstdcat data/sample/test.jsonl.zst | head -n9 | \\\n"
                           "      kernelx simulate --data data/sample/test.jsonl.zst \\\n"
                           "      --dynamics nearest-state --json\n");
  flags->AddTo(verb, "nearest");
  verb.add_flag("--json", *json, "one JSON line an answer");
  verb.callback([flags, json] { Run(*flags, *json); });
}

}  // namespace kernelx::cli
