// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Checkpoints of a GRPO run. Random numbers are a function of seed and update, so their state is
// the update's index.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "kernelx/ground/error.h"
#include "kernelx/nn/mlp_file.h"
#include "kernelx/nn/safetensors.h"
#include "kernelx/train/grpo_trainer.h"

namespace kernelx {
namespace {

constexpr const char* kFormat = "kernelx-training-1";

std::string PolicyPath(const std::string& folder) { return folder + "/policy.safetensors"; }
std::string TrainingPath(const std::string& folder) { return folder + "/training.safetensors"; }

uint64_t Number(const Safetensors& file, const std::string& path, const std::string& key) {
  const std::string& text = file.Meta(key);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: metadata '{}' is '{}', no number; use another checkpoint", path,
                            key, text));
  }
  return value;
}

/// The packed vector of the tensors `prefix`, for a network of `net`'s shape.
std::vector<float> Packed(const Safetensors& file, const std::string& prefix,
                          const Mlp<float>& net) {
  std::vector<float> packed(net.parameters().size(), 0.0F);
  ReadMlpTensors(file, prefix, net, packed);
  return packed;
}

}  // namespace

void GrpoTrainer::Save(const std::string& folder) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::kFile, fmt::format("{}: cannot make the folder: {}; check the path",
                                              folder, error.message()));
  }
  Safetensors training;
  training.metadata = {{"format", kFormat},
                       {"update", std::to_string(update_)},
                       {"adam_steps", std::to_string(grpo_.adam().steps())},
                       {"options", options_.Describe()}};
  const Mlp<float>& net = policy_.net();
  AddMlpTensors(training, "reference", net, grpo_.reference().parameters());
  AddMlpTensors(training, "adam.m", net, grpo_.adam().first_moment());
  AddMlpTensors(training, "adam.v", net, grpo_.adam().second_moment());
  const double scale = grpo_.advantages().running_scale();
  training.Add("advantage.running_scale", {}, std::span<const double>(&scale, 1));
  MlpPolicy policy = policy_;
  policy.mutable_spec().provenance["update"] = std::to_string(update_);
  policy.Save(PolicyPath(folder));
  training.Save(TrainingPath(folder));
}

void GrpoTrainer::Resume(const std::string& folder) {
  const std::string path = TrainingPath(folder);
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: {}", path, what));
  };
  const Safetensors training = Safetensors::Load(path);
  const MlpPolicy saved = MlpPolicy::Load(PolicyPath(folder));
  if (training.Meta("format") != kFormat) {
    refuse(fmt::format("format '{}', this program reads '{}'; start again", training.Meta("format"),
                       kFormat));
  }
  if (training.Meta("options") != options_.Describe()) {
    refuse(fmt::format("was trained with {}, this run has {}; resume with the same options",
                       training.Meta("options"), options_.Describe()));
  }
  const auto of_policy = saved.spec().provenance.find("update");
  if (of_policy == saved.spec().provenance.end() || of_policy->second != training.Meta("update")) {
    refuse(fmt::format("is of update {}, the policy beside it is not; use an earlier checkpoint",
                       training.Meta("update")));
  }
  if (saved.spec().features != policy_.spec().features ||
      saved.net().sizes() != policy_.net().sizes() ||
      saved.net().activation() != policy_.net().activation()) {
    refuse("the policy beside it has other features or layers than this run; resume with the same");
  }
  const Mlp<float>& net = policy_.net();
  const auto reference = Packed(training, "reference", net);
  const auto first = Packed(training, "adam.m", net);
  const auto second = Packed(training, "adam.v", net);
  const double scale = training.Double("advantage.running_scale", {}).front();
  const uint64_t update = Number(training, path, "update");
  const uint64_t adam_steps = Number(training, path, "adam_steps");

  policy_.mutable_net() = saved.net();
  policy_.SetNormaliser(saved.spec().mean, saved.spec().std);
  grpo_.RestoreReference(reference);
  grpo_.adam().Restore(adam_steps, first, second);
  grpo_.advantages().Restore(scale);
  update_ = update;
}

}  // namespace kernelx
