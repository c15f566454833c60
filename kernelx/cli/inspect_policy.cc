// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/cli/inspect_policy.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"
#include "kernelx/policy/mlp_policy.h"

namespace kernelx::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// First and last row of metrics.csv, and how many there are.
Json MetricsSummary(const std::string& path) {
  std::ifstream file(path);
  std::string header, line, last;
  size_t rows = 0;
  std::getline(file, header);
  while (std::getline(file, line)) last = line, ++rows;
  Json metrics = Json::object();
  std::istringstream names(header), values(last);
  std::string name, value;
  while (std::getline(names, name, ',') && std::getline(values, value, ',')) metrics[name] = value;
  return {{"updates", rows}, {"last", metrics}};
}

void PrintTree(const Json& json, int indent) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      fmt::print("{:{}}{}\n", "", indent, key);
      PrintTree(value, indent + 2);
      continue;
    }
    if (value.is_array() && !value.empty() && value.front().is_string()) {
      fmt::print("{:{}}{}\n", "", indent, key);
      for (const auto& one : value) fmt::print("{:{}}{}\n", "", indent + 2, one.get<std::string>());
      continue;
    }
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    fmt::print("{:{}}{:<{}} {}\n", "", indent, key, 28 - indent, text);
  }
}

}  // namespace

bool IsPolicy(const std::string& path) { return path.ends_with(kPolicyFileSuffix); }
bool IsRun(const std::string& path) { return fs::exists(path + "/config.json"); }

Json InspectPolicy(const std::string& path) {
  const MlpPolicy policy = MlpPolicy::Load(path);
  const MlpPolicySpec& spec = policy.spec();
  Json provenance = Json::object();
  for (const auto& [key, value] : spec.provenance) {
    // Options are kept as JSON text in the file.
    provenance[key] = value.starts_with('{') ? Json::parse(value, nullptr, false) : Json(value);
  }
  return {{"file", path},
          {"form", "policy"},
          {"name", spec.name},
          {"reward", spec.reward},
          {"hold", spec.hold},
          {"temperature", spec.temperature},
          {"layers", policy.net().sizes()},
          {"features", spec.features},
          {"provenance", provenance}};
}

Json InspectRun(const std::string& path) {
  const Json config = Json::parse(ReadFile(path + "/config.json"), nullptr, false);
  if (config.is_discarded()) {
    throw Error(ErrorCode::kBadInput, path + "/config.json: not JSON; the run folder is damaged");
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    files.push_back(entry.path().filename().string());
  }
  std::ranges::sort(files);
  Json json = {{"file", path}, {"form", "run"}, {"files", files}, {"config", config}};
  if (fs::exists(path + "/metrics.csv")) json["training"] = MetricsSummary(path + "/metrics.csv");
  return json;
}

void PrintInspected(const Json& json) {
  fmt::print("{}: {}\n", json["file"].get<std::string>(), json["form"].get<std::string>());
  Json rest = json;
  rest.erase("file");
  rest.erase("form");
  PrintTree(rest, 2);
}

}  // namespace kernelx::cli
