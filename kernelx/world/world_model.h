// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The World Model: an ensemble of networks that give the law of a task's next event from its state
// and the action, and its file.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernelx/nn/mlp.h"
#include "kernelx/world/event.h"
#include "kernelx/world/heads.h"

namespace kernelx {

/// Outputs of a member are base(state) + effect(state, previous action, action). Only `effect` sees
/// an action, and it is fitted on randomised rows alone: what standing actions go with cannot reach
/// it. Without such rows it is zero, and so is every claim about the action.
struct WorldMember {
  static constexpr size_t kBaseInputs = EventFeatures::kInputs;
  static constexpr size_t kEffectInputs = EventFeatures::kInputs + 2;
  Mlp<float> base;
  Mlp<float> effect;
};

/// Working memory of a forward pass; one a thread.
class WorldBlock {
 public:
  static constexpr size_t kColumns = MlpBlock<float>::kColumns;

  explicit WorldBlock(const WorldMember& member)
      : base_(member.base), effect_(member.effect), out_(kColumns * kHeadOutputs) {}

  /// Writes column `column`: encoded inputs, the standing action and the new one.
  void Set(size_t column, std::span<const float> inputs, double previous_action, double action);
  void Forward(const WorldMember& member, size_t columns);
  [[nodiscard]] std::span<const float> out(size_t column) const {
    return std::span(out_).subspan(column * kHeadOutputs, kHeadOutputs);
  }

 private:
  MlpBlock<float> base_, effect_;
  std::vector<float> out_;
};

class WorldModel {
 public:
  static constexpr double kInputBound = 10.0;

  /// Of the inputs, in the order of `EventFeatures::InputNames`.
  std::array<double, EventFeatures::kInputs> mean{}, sd{};
  TargetScale targets;
  std::vector<WorldMember> members;
  /// Where it comes from; free-form.
  std::map<std::string, std::string> provenance;

  /// (feature - mean) / sd, clipped.
  void Encode(const EventFeatures& features, const double* state, std::span<float> inputs) const;

  void Save(const std::string& path) const;
  /// Throws kFile, or kBadInput naming what the file lacks.
  static WorldModel Load(const std::string& path);
};

/// The inputs of `effect` that are actions are divided by this: the spread of Uniform(-1, 1).
inline constexpr double kActionScale = 0.57735026918962576;

}  // namespace kernelx
