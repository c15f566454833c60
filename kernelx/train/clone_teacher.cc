// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/clone_teacher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "kernelx/ground/error.h"
#include "kernelx/nn/adam.h"

namespace kernelx {
namespace {

constexpr uint64_t kHoldOutEvery = 10;
constexpr double kGradientClip = 0.5;

/// Encoded states and the means the policy should have there.
struct Lessons {
  size_t width = 0;
  std::vector<float> inputs;
  std::vector<double> targets;
  std::vector<size_t> train, held_out;
};

Lessons Prepare(const MlpPolicy& policy, std::span<const double> states,
                std::span<const double> actions, const CloneOptions& options) {
  const size_t size = policy.state_size();
  if (size == 0 || states.size() != actions.size() * size || actions.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("[train.CloneTeacher] {} feature values for {} actions and a policy bound "
                    "to {} features; give one state an action",
                    states.size(), actions.size(), size));
  }
  Lessons lessons;
  lessons.width = policy.net().input_size();
  lessons.inputs.resize(actions.size() * lessons.width);
  for (size_t i = 0; i < actions.size(); ++i) {
    const bool good = policy.Encode(states.subspan(i * size, size),
                                    {lessons.inputs.data() + i * lessons.width, lessons.width});
    if (!good || !std::isfinite(actions[i])) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("[train.CloneTeacher] state {} or its action {} is no number; mend the "
                      "data",
                      i, actions[i]));
    }
    lessons.targets.push_back(
        std::atanh(std::clamp(actions[i], -options.action_bound, options.action_bound)));
    const bool hold_out = MixSeed(0, i) % kHoldOutEvery == 0 && actions.size() >= kHoldOutEvery;
    (hold_out ? lessons.held_out : lessons.train).push_back(i);
  }
  if (lessons.held_out.empty()) lessons.held_out = lessons.train;
  return lessons;
}

/// A standard deviation that no state changes, and no gradient reaches.
void PinStd(Mlp<float>& net, double std) {
  net.Modify([&](std::span<float> packed) {
    const size_t last = net.layers().size() - 1;
    std::vector<float> weight = net.UnpackWeight(packed, last);
    std::vector<float> bias = net.UnpackBias(packed, last);
    std::fill(weight.begin() + static_cast<std::ptrdiff_t>(weight.size() / 2), weight.end(), 0.0F);
    bias[1] = static_cast<float>(PolicyHead::LogStdOutput(std));
    net.PackWeight(packed, last, weight);
    net.PackBias(packed, last, bias);
  });
}

void Shuffle(std::vector<size_t>& order, Rng& rng) {
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
}

/// Columns [begin, end) of a choice of rows, into a block.
void Fill(const Lessons& lessons, const size_t* rows, MlpBlock<float>& block, size_t begin,
          size_t end) {
  for (size_t c = begin; c < end; ++c) {
    std::copy_n(lessons.inputs.data() + rows[c] * lessons.width, lessons.width,
                block.input(c - begin).begin());
  }
}

/// Mean |tanh mean - action|.
double MeanError(const Mlp<float>& net, const Lessons& lessons, std::span<const size_t> rows,
                 MlpGradient<float>& pass, unsigned threads) {
  std::array<double, MlpGradient<float>::kShards> sums{};
  const auto fill = [&](MlpBlock<float>& block, size_t begin, size_t end) {
    Fill(lessons, rows.data(), block, begin, end);
  };
  const auto read = [&](MlpBlock<float>& block, size_t begin, size_t end, size_t shard) {
    for (size_t c = begin; c < end; ++c) {
      const std::span<const float> o = block.output(c - begin);
      sums[shard] += std::abs(std::tanh(PolicyHead(o[0], o[1]).law.mean) -
                              std::tanh(lessons.targets[rows[c]]));
    }
  };
  pass.Evaluate(net, rows.size(), threads, std::ref(fill), std::ref(read));
  return MlpGradient<float>::TreeSum(sums) / static_cast<double>(rows.size());
}

}  // namespace

CloneReport CloneTeacher(MlpPolicy& policy, std::span<const double> states,
                         std::span<const double> actions, const CloneOptions& options) {
  Lessons lessons = Prepare(policy, states, actions, options);
  Mlp<float>& net = policy.mutable_net();
  PinStd(net, options.std);
  MlpGradient<float> pass(net);
  Adam<float> adam(net.parameters().size());
  std::vector<size_t>& rows = lessons.train;
  const size_t batch = std::min(options.batch, rows.size());
  const size_t a_epoch = rows.size() / batch;
  const size_t epochs = std::max(options.epochs, (options.min_steps + a_epoch - 1) / a_epoch);
  const double total = static_cast<double>(epochs * a_epoch);
  const double precision = 1.0 / (options.std * options.std);
  Rng rng(options.seed, 0x636C6F6E65);

  CloneReport report{.trained_on = rows.size(), .held_out = lessons.held_out.size()};
  const size_t* chosen = nullptr;
  const auto fill = [&](MlpBlock<float>& block, size_t begin, size_t end) {
    Fill(lessons, chosen, block, begin, end);
  };
  const auto loss = [&](MlpBlock<float>& block, size_t begin, size_t end, size_t /*shard*/) {
    for (size_t c = begin; c < end; ++c) {
      const std::span<const float> o = block.output(c - begin);
      const PolicyHead head(o[0], o[1]);
      const double pull = (head.law.mean - lessons.targets[chosen[c]]) * precision * head.d_mean;
      block.output_gradient(c - begin)[0] = static_cast<float>(pull / static_cast<double>(batch));
      block.output_gradient(c - begin)[1] = 0.0F;
    }
  };
  for (size_t epoch = 0; epoch < epochs; ++epoch) {
    Shuffle(rows, rng);
    for (size_t k = 0; k < a_epoch; ++k, ++report.steps) {
      chosen = rows.data() + k * batch;
      pass.Run(net, batch, options.threads, std::ref(fill), std::ref(loss));
      ClipNorm(pass.gradient(), kGradientClip);
      const double bend =
          0.5 * (1.0 + std::cos(std::numbers::pi * static_cast<double>(report.steps) / total));
      const double rate = options.learning_rate_last +
                          (options.learning_rate_first - options.learning_rate_last) * bend;
      net.Modify([&](std::span<float> p) { adam.Step(p, pass.gradient(), rate); });
    }
  }
  report.error = MeanError(net, lessons, lessons.held_out, pass, options.threads);
  return report;
}

}  // namespace kernelx
