// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The policy file: tensors policy.l*.{weight,bias} (F32), norm.{mean,std} (F64); everything else in
// the metadata, lists and maps as JSON text.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernelx/ground/error.h"
#include "kernelx/nn/mlp_file.h"
#include "kernelx/nn/safetensors.h"
#include "kernelx/policy/mlp_policy.h"

namespace kernelx {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "kernelx-policy-1";

/// Metadata `key` parsed as a T; a message names the file and the key otherwise.
template <typename T>
T Parsed(const Safetensors& file, const std::string& path, const std::string& key) {
  const std::string& text = file.Meta(key);
  try {
    return Json::parse(text).get<T>();
  } catch (const Json::exception& e) {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: metadata '{}' is '{}' ({}); train again",
                                                  path, key, text, e.what()));
  }
}

}  // namespace

void MlpPolicy::Save(const std::string& path) const {
  Safetensors file;
  file.metadata = {{"format", kFormat},
                   {"name", spec_.name},
                   {"activation", ActivationName(net_.activation())},
                   {"features", Json(spec_.features).dump()},
                   {"feature_set", spec_.feature_set},
                   {"reward", spec_.reward},
                   {"hold", Json(spec_.hold).dump()},
                   {"temperature", Json(spec_.temperature).dump()},
                   {"provenance", Json(spec_.provenance).dump()}};
  AddMlpTensors(file, "policy", net_, net_.parameters());
  file.Add("norm.mean", {spec_.mean.size()}, std::span<const double>(spec_.mean));
  file.Add("norm.std", {spec_.std.size()}, std::span<const double>(spec_.std));
  file.Save(path);
}

MlpPolicy MlpPolicy::Load(const std::string& path) {
  const Safetensors file = Safetensors::Load(path);
  if (file.Meta("format") != kFormat) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: format '{}', this program reads '{}'; train again or use the "
                            "program that wrote it",
                            path, file.Meta("format"), kFormat));
  }
  MlpPolicySpec spec;
  spec.name = file.Meta("name");
  spec.features = Parsed<std::vector<std::string>>(file, path, "features");
  spec.feature_set = file.Meta("feature_set");
  spec.reward = file.Meta("reward");
  spec.hold = Parsed<int>(file, path, "hold");
  spec.temperature = Parsed<double>(file, path, "temperature");
  spec.provenance = Parsed<std::map<std::string, std::string>>(file, path, "provenance");
  spec.mean = file.Double("norm.mean", {spec.features.size()});
  spec.std = file.Double("norm.std", {spec.features.size()});
  Mlp<float> net = ReadMlp(file, "policy", ActivationNamed(file.Meta("activation")));
  try {
    return {std::move(spec), std::move(net)};
  } catch (const Error& e) {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: {}", path, e.what()));
  }
}

}  // namespace kernelx
