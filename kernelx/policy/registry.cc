// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/policy/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "kernelx/ground/error.h"
#include "kernelx/policy/mlp_policy.h"
#include "kernelx/policy/rules.h"

namespace kernelx {
namespace {

constexpr std::string_view kConstant = "constant:";

struct BuiltIn {
  const char* name;
  std::unique_ptr<Policy> (*make)();
};

const BuiltIn kBuiltIns[] = {
    {"none",
     []() -> std::unique_ptr<Policy> {
       return std::make_unique<FixedPolicy>("none", ActionLaw{});
     }},
    {"random",
     []() -> std::unique_ptr<Policy> {
       return std::make_unique<FixedPolicy>("random", ActionLaw{.kind = ActionLaw::Kind::kUniform});
     }},
    {"heuristic",
     []() -> std::unique_ptr<Policy> {
       return std::make_unique<RulePolicy>(MakeHeuristicPolicy());
     }},
    {"interactive",
     []() -> std::unique_ptr<Policy> {
       return std::make_unique<RulePolicy>(MakeInteractivePolicy());
     }},
};

std::unique_ptr<Policy> MakeConstant(const std::string& name) {
  const std::string_view text = std::string_view(name).substr(kConstant.size());
  double action = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), action);
  if (error != std::errc() || end != text.data() + text.size() || !(std::abs(action) <= 1.0)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("[policy.MakePolicy] '{}' is no constant policy; write constant:X with X "
                    "in [-1, 1], e.g. constant:-0.5",
                    name));
  }
  return std::make_unique<FixedPolicy>(
      name, ActionLaw{.kind = ActionLaw::Kind::kPoint, .center = action});
}

}  // namespace

std::unique_ptr<Policy> MakePolicy(const std::string& name_or_path) {
  for (const BuiltIn& built_in : kBuiltIns) {
    if (name_or_path == built_in.name) return built_in.make();
  }
  if (name_or_path.starts_with(kConstant)) return MakeConstant(name_or_path);
  if (name_or_path.ends_with(kPolicyFileSuffix)) {
    return std::make_unique<MlpPolicy>(MlpPolicy::Load(name_or_path));
  }
  throw Error(
      ErrorCode::kUsage,
      fmt::format("[policy.MakePolicy] no policy is called '{}'; use one of {} or the path of "
                  "a {} file",
                  name_or_path, fmt::join(PolicyNames(), ", "), kPolicyFileSuffix));
}

const std::vector<std::string>& PolicyNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const BuiltIn& built_in : kBuiltIns) names.emplace_back(built_in.name);
    names.push_back(std::string(kConstant) + "X");
    return names;
  }();
  return kNames;
}

}  // namespace kernelx
