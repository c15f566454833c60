// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Environments whose best policy is known, for tests.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "kernelx/policy/mlp_policy.h"
#include "kernelx/train/group_env.h"

namespace kernelx {

/// One decision: a normal state of `size` numbers, some luck, a reward.
struct ToyBandit final : GroupEnv {
  size_t size = 1;
  std::function<double(std::span<const double> x, double action, double luck)> reward;
  std::function<double(Rng& rng)> luck = [](Rng&) { return 0.0; };
  bool common_luck = true;  ///< one luck a group, else one a member
  uint64_t seed = 77;

  [[nodiscard]] size_t observation_size() const override { return size; }
  void Reset(const GroupRequest& request, std::span<double> observations) override {
    now_ = request;
    for (size_t i = 0; i < request.groups; ++i) {
      Rng rng(seed, MixSeed(request.update, i));
      for (size_t k = 0; k < size; ++k) observations[i * size + k] = rng.Normal();
    }
    states_.assign(observations.begin(), observations.end());
  }
  void Step(std::span<const double> actions, std::span<double> rewards, std::span<uint8_t> done,
            std::span<double> observations) override {
    for (size_t i = 0; i < now_.groups; ++i) {
      Rng rng(seed + 1, MixSeed(now_.update, i));
      double drawn = luck(rng);
      for (size_t j = 0; j < now_.group_size; ++j) {
        if (j > 0 && !common_luck) drawn = luck(rng);
        const size_t m = i * now_.group_size + j;
        rewards[m] = reward({states_.data() + i * size, size}, actions[m], drawn);
        done[m] = 1;
        if (!observations.empty()) {
          std::copy_n(states_.data() + i * size, size, observations.data() + m * size);
        }
      }
    }
  }

 private:
  GroupRequest now_;
  std::vector<double> states_;
};

/// x' = x + a, cost x'^2 + a^2 over three decisions; the policy sees x and which decision it is.
/// Optimal: a = -gain x with gains 8/13, 3/5, 1/2; looking one step ahead only, 1/2 each time.
struct ToyRegulator final : GroupEnv {
  static constexpr size_t kSize = 4;

  [[nodiscard]] size_t observation_size() const override { return kSize; }
  void Reset(const GroupRequest& request, std::span<double> observations) override {
    decision_ = 0;
    x_.clear();
    for (size_t i = 0; i < request.groups; ++i) {
      // Where episodes are cut to one decision, all three kinds of state must still be met.
      if (request.horizon == 1) decision_ = request.update % 3;
      Rng rng(5, MixSeed(request.update, i));
      const double x = rng.Uniform(-1.2, 1.2);
      Show(x, observations.subspan(i * kSize, kSize));
      x_.insert(x_.end(), request.group_size, x);
    }
  }
  void Step(std::span<const double> actions, std::span<double> rewards, std::span<uint8_t> done,
            std::span<double> observations) override {
    ++decision_;
    for (size_t m = 0; m < x_.size(); ++m) {
      x_[m] += actions[m];
      rewards[m] = -(x_[m] * x_[m] + actions[m] * actions[m]);
      done[m] = decision_ >= 3 ? 1 : 0;
      if (!observations.empty()) Show(x_[m], observations.subspan(m * kSize, kSize));
    }
  }
  /// Least-squares gain of a policy's median at decision `t`.
  static double Gain(const MlpPolicy& policy, size_t t) {
    double xy = 0.0;
    double xx = 0.0;
    for (int k = -10; k <= 10; ++k) {
      const double x = k / 10.0;
      double state[kSize] = {x};
      state[1 + t] = 1.0;
      xy -= x * policy.Law(state).Median();
      xx += x * x;
    }
    return xy / xx;
  }

 private:
  void Show(double x, std::span<double> observation) const {
    std::ranges::fill(observation, 0.0);
    observation[0] = x;
    if (decision_ < 3) observation[1 + decision_] = 1.0;
  }
  size_t decision_ = 0;
  std::vector<double> x_;
};

/// A policy over features f0 .. with the mean 0 (nearly) and the standard deviation `std`
/// everywhere.
inline MlpPolicy ToyPolicy(size_t features, double std, uint64_t seed = 1,
                           const std::vector<size_t>& hidden = {64, 64}) {
  MlpPolicySpec spec;
  for (size_t k = 0; k < features; ++k) spec.features.push_back(fmt::format("f{}", k));
  const std::vector<std::string> names = spec.features;
  Rng rng(seed);
  MlpPolicy policy(spec, hidden, rng);
  policy.mutable_net().Modify([&](std::span<float> p) {
    const auto& net = policy.net();
    const std::vector<float> bias = {0.0F, static_cast<float>(PolicyHead::LogStdOutput(std))};
    net.PackBias(p, net.layers().size() - 1, bias);
  });
  policy.Bind(names);
  return policy;
}

}  // namespace kernelx
