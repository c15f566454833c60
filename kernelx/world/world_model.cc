// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/world/world_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernelx/ground/error.h"
#include "kernelx/nn/mlp_file.h"
#include "kernelx/nn/safetensors.h"

namespace kernelx {
namespace {

constexpr std::string_view kFormat = "kernelx-world";

void CheckShape(const Mlp<float>& net, size_t inputs, const std::string& path) {
  if (net.input_size() != inputs || net.output_size() != kHeadOutputs) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: a network of {} inputs and {} outputs where a World Model has {} "
                            "and {}; train it again",
                            path, net.input_size(), net.output_size(), inputs, kHeadOutputs));
  }
}

}  // namespace

void WorldBlock::Set(size_t column, std::span<const float> inputs, double previous_action,
                     double action) {
  std::ranges::copy(inputs, base_.input(column).begin());
  const auto effect = effect_.input(column);
  std::ranges::copy(inputs, effect.begin());
  effect[inputs.size()] = static_cast<float>(previous_action / kActionScale);
  effect[inputs.size() + 1] = static_cast<float>(action / kActionScale);
}

void WorldBlock::Forward(const WorldMember& member, size_t columns) {
  base_.Forward(member.base, columns);
  effect_.Forward(member.effect, columns);
  for (size_t c = 0; c < columns; ++c) {
    std::ranges::transform(base_.output(c), effect_.output(c),
                           out_.begin() + static_cast<ptrdiff_t>(c * kHeadOutputs), std::plus{});
  }
}

void WorldModel::Encode(const EventFeatures& features, const double* state,
                        std::span<float> inputs) const {
  const auto& columns = features.inputs();
  for (size_t i = 0; i < columns.size(); ++i) {
    const double normal = (state[columns[i]] - mean[i]) / sd[i];
    inputs[i] = static_cast<float>(std::clamp(normal, -kInputBound, kInputBound));
  }
}

void WorldModel::Save(const std::string& path) const {
  Safetensors file;
  for (const auto& [key, value] : provenance) file.metadata["provenance." + key] = value;
  file.metadata["format"] = kFormat;
  file.metadata["version"] = "1";
  file.metadata["members"] = std::to_string(members.size());
  const auto names = EventFeatures::InputNames();
  file.metadata["features"] =
      nlohmann::json(std::vector<std::string>(names.begin(), names.end())).dump();
  file.metadata["heads"] =
      "64 wait bins over ln(1+us), 4 wakes, mean and log-variance of exec, "
      "sleep, util, runnable_avg, runnable";
  file.Add("input.mean", {mean.size()}, mean);
  file.Add("input.sd", {sd.size()}, sd);
  file.Add("target.mean", {kGaussians}, targets.mean);
  file.Add("target.sd", {kGaussians}, targets.sd);
  for (size_t m = 0; m < members.size(); ++m) {
    const WorldMember& member = members[m];
    AddMlpTensors(file, fmt::format("m{}.base", m), member.base, member.base.parameters());
    AddMlpTensors(file, fmt::format("m{}.effect", m), member.effect, member.effect.parameters());
  }
  file.Save(path);
}

WorldModel WorldModel::Load(const std::string& path) {
  const Safetensors file = Safetensors::Load(path);
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() || format->second != kFormat) {
    throw Error(ErrorCode::kBadInput, path + ": not a World Model; make one with world train");
  }
  const auto names = EventFeatures::InputNames();
  if (file.Meta("features") !=
      nlohmann::json(std::vector<std::string>(names.begin(), names.end())).dump()) {
    throw Error(ErrorCode::kBadInput,
                path + ": the World Model reads other features than this version; train it again");
  }
  WorldModel model;
  const auto read = [&](const char* name, auto& into) {
    std::ranges::copy(file.Double(name, {into.size()}), into.begin());
  };
  read("input.mean", model.mean);
  read("input.sd", model.sd);
  read("target.mean", model.targets.mean);
  read("target.sd", model.targets.sd);
  for (const double sd : model.sd) {
    if (!(sd > 0.0)) throw Error(ErrorCode::kBadInput, path + ": a standard deviation is not > 0");
  }
  for (size_t m = 0; file.Has(fmt::format("m{}.base.l0.weight", m)); ++m) {
    WorldMember member{ReadMlp(file, fmt::format("m{}.base", m), Activation::kSilu),
                       ReadMlp(file, fmt::format("m{}.effect", m), Activation::kSilu)};
    CheckShape(member.base, WorldMember::kBaseInputs, path);
    CheckShape(member.effect, WorldMember::kEffectInputs, path);
    if (m > 0 && (member.base.sizes() != model.members[0].base.sizes() ||
                  member.effect.sizes() != model.members[0].effect.sizes())) {
      throw Error(ErrorCode::kBadInput, path + ": members of different shapes; train it again");
    }
    model.members.push_back(std::move(member));
  }
  if (model.members.empty() || std::to_string(model.members.size()) != file.Meta("members")) {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: {} members of {}; train it again", path,
                                                  model.members.size(), file.Meta("members")));
  }
  constexpr std::string_view kPrefix = "provenance.";
  for (const auto& [key, value] : file.metadata) {
    if (key.starts_with(kPrefix)) model.provenance[key.substr(kPrefix.size())] = value;
  }
  return model;
}

}  // namespace kernelx
