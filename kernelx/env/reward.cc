// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/reward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

double FormatTerm(double action) { return action >= -1.0 && action <= 1.0 ? 1.0 : 0.0; }

/// The loop of `FromActions` over a final class, whose `FromAction` the compiler can see into.
template <typename Preset>
void EachAction(const Preset& preset, size_t action_terms, size_t n, const double* actions,
                const double* previous_actions, double* terms, size_t stride) {
  for (size_t i = 0; i < n; ++i) {
    double of_action[Reward::kMaxTerms];
    preset.FromAction(actions[i], previous_actions[i], of_action);
    for (size_t t = 0; t < action_terms; ++t) terms[t * stride + i] = of_action[t];
  }
}

class SeedReward final : public Reward {
 public:
  explicit SeedReward(const RewardOptions& options) : options_(options) {}

  std::string_view name() const override { return "seed"; }
  std::span<const std::string_view> terms() const override {
    static constexpr std::string_view kTerms[] = {"throughput", "latency", "stability", "format"};
    return kTerms;
  }
  size_t outcome_terms() const override { return 2; }
  bool clamps() const override { return false; }

  void FromOutcome(const Outcome& outcome, double* terms) const override {
    terms[0] = options_.alpha * std::log(std::max(0.0, outcome.seed_exec_gain) + 1.0);
    terms[1] = -options_.beta * std::max(0.0, outcome.seed_wait_gain);
  }
  void FromAction(double action, double previous_action, double* terms) const override {
    terms[0] = -options_.gamma * std::abs(action - previous_action);
    terms[1] = FormatTerm(action);
  }
  void FromActions(size_t n, const double* actions, const double* previous_actions, double* terms,
                   size_t stride) const override {
    EachAction(*this, 2, n, actions, previous_actions, terms, stride);
  }

 private:
  RewardOptions options_;
};

class BalancedReward final : public Reward {
 public:
  explicit BalancedReward(const RewardOptions& options) : options_(options) {}

  std::string_view name() const override { return "balanced"; }
  std::span<const std::string_view> terms() const override {
    static constexpr std::string_view kTerms[] = {"latency", "price", "effort", "stability",
                                                  "format"};
    return kTerms;
  }
  size_t outcome_terms() const override { return 2; }

  void FromOutcome(const Outcome& outcome, double* terms) const override {
    terms[0] = -outcome.log_slowdown;
    terms[1] = -options_.price * std::log((outcome.exec_us + 20.0) / (outcome.dt_us + 100.0));
  }
  void FromAction(double action, double previous_action, double* terms) const override {
    const double acts = std::clamp(action, -1.0, 1.0);
    terms[0] = -options_.effort * std::abs(acts);
    terms[1] = -options_.stability * std::abs(acts - previous_action);
    terms[2] = FormatTerm(action);
  }
  void FromActions(size_t n, const double* actions, const double* previous_actions, double* terms,
                   size_t stride) const override {
    EachAction(*this, 3, n, actions, previous_actions, terms, stride);
  }

 private:
  RewardOptions options_;
};

}  // namespace

void Reward::FromActions(size_t n, const double* actions, const double* previous_actions,
                         double* terms, size_t stride) const {
  EachAction(*this, this->terms().size() - outcome_terms(), n, actions, previous_actions, terms,
             stride);
}

std::unique_ptr<Reward> MakeReward(std::string_view preset, const RewardOptions& options) {
  for (const double weight : {options.alpha, options.beta, options.gamma, options.price,
                              options.effort, options.stability}) {
    if (!std::isfinite(weight)) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("reward: a weight is {}; give a finite number", weight));
    }
  }
  if (preset == "seed") return std::make_unique<SeedReward>(options);
  if (preset == "balanced") return std::make_unique<BalancedReward>(options);
  throw Error(ErrorCode::kUsage,
              fmt::format("reward: \"{}\" is unknown; use seed or balanced", preset));
}

}  // namespace kernelx
