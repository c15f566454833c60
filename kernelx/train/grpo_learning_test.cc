// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// GRPO on problems whose answer is known.
#include <gtest/gtest.h>

#include <cmath>

#include "kernelx/ground/testing.h"
#include "kernelx/train/grpo_trainer.h"
#include "kernelx/train/toy_env_test.h"

namespace kernelx {
namespace {

class GrpoLearning : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "thousands of updates; GrpoTrainer's tests run the same code";
  }
};

constexpr AdvantageScale kScales[] = {AdvantageScale::kNone, AdvantageScale::kEma,
                                      AdvantageScale::kBatch, AdvantageScale::kGroup};

MlpPolicy Trained(const MlpPolicy& policy, GroupEnv& env, const GrpoOptions& options) {
  GrpoTrainer trainer(policy, env, options);
  trainer.Run([](const UpdateMetrics&) { return true; });
  return trainer.policy();
}

TEST_F(GrpoLearning, KlBanditHasItsClosedForm) {
  // max E[-(u - 0.8)^2] - 0.5 KL(N(m, s) || N(0, 0.7)): m = 1.6 / (2 + 0.5 / 0.49), and
  // s^2 = 0.5 / (2 + 0.5 / 0.49), in u = atanh(a).
  ToyBandit env;
  env.reward = [](auto, double a, double) {
    const double u = std::atanh(std::clamp(a, -1 + 1e-12, 1 - 1e-12));
    return -(u - 0.8) * (u - 0.8);
  };
  GrpoOptions options;
  options.states = 64;
  options.phases = {{.updates = 800}};
  options.scale = AdvantageScale::kNone;
  options.kl_weight_first = options.kl_weight_last = 0.5;
  options.entropy_weight = 0.0;
  options.learning_rate_first = 3e-3;
  const MlpPolicy policy = Trained(ToyPolicy(1, 0.7), env, options);
  double mean = 0.0;
  double std = 0.0;
  for (int i = 0; i < 9; ++i) {
    const ActionLaw law = policy.Law(std::vector<double>{-1.0 + 0.25 * i});
    mean += law.center / 9;
    std += std::exp(law.log_std) / 9;
  }
  EXPECT_NEAR(mean, 0.52973, 0.02);
  EXPECT_NEAR(std, 0.40687, 0.01);
}

/// r = -(a - tanh(w . x))^2 + luck in six dimensions; root mean square error of the median action.
double QuadraticError(const MlpPolicy& policy) {
  Rng rng(1234);
  double squares = 0.0;
  constexpr int kStates = 2000;
  for (int n = 0; n < kStates; ++n) {
    double x[6];
    double wx = 0.0;
    for (int k = 0; k < 6; ++k) wx += (k % 2 == 0 ? 0.4 : -0.25) * (x[k] = rng.Normal());
    const double miss = policy.Law(x).Median() - std::tanh(wx);
    squares += miss * miss;
  }
  return std::sqrt(squares / kStates);
}

ToyBandit Quadratic() {
  ToyBandit env;
  env.size = 6;
  env.reward = [](std::span<const double> x, double a, double luck) {
    double wx = 0.0;
    for (size_t k = 0; k < 6; ++k) wx += (k % 2 == 0 ? 0.4 : -0.25) * x[k];
    return -(a - std::tanh(wx)) * (a - std::tanh(wx)) + luck;
  };
  return env;
}

GrpoOptions QuadraticOptions(uint64_t seed, AdvantageScale scale) {
  GrpoOptions options;
  options.seed = seed;
  options.states = 64;
  options.phases = {{.updates = 1000}};
  options.scale = scale;
  options.kl_weight_first = options.kl_weight_last = 0.0;
  options.entropy_weight = 0.0;
  return options;
}

TEST_F(GrpoLearning, ContextualQuadraticIsFoundInEveryModeAndSeed) {
  for (const AdvantageScale scale : kScales) {
    for (uint64_t seed = 1; seed <= (scale == AdvantageScale::kEma ? 5 : 1); ++seed) {
      ToyBandit env = Quadratic();
      const MlpPolicy start = ToyPolicy(6, 0.5, seed);
      EXPECT_GT(QuadraticError(start), 0.4);
      EXPECT_LE(QuadraticError(Trained(start, env, QuadraticOptions(seed, scale))), 0.03)
          << AdvantageScaleName(scale) << ' ' << seed;
    }
  }
}

TEST_F(GrpoLearning, CommonRandomNumbersTakeOutHeavyTails) {
  const auto error = [](bool common) {
    ToyBandit env = Quadratic();
    env.luck = [](Rng& rng) {  // Student t with two degrees of freedom
      const double z = rng.Normal();
      return z / std::sqrt(-std::log(1.0 - rng.Uniform()));
    };
    env.common_luck = common;
    return QuadraticError(
        Trained(ToyPolicy(6, 0.5), env, QuadraticOptions(1, AdvantageScale::kEma)));
  };
  const double with = error(true);
  const double without = error(false);
  EXPECT_LE(with, 0.03);
  EXPECT_GE(without, 3.0 * with);
}

/// Mean median action after training on r = slope a, slope 1 with probability 0.99 and -200 with
/// 0.01 (mean -1.01), averaged over `draws`; 0 draws stands for the expectation.
double TailFlip(AdvantageScale scale, int draws, double clip = 1e9) {
  ToyBandit env;
  env.reward = [](auto, double a, double slope) { return slope * a; };
  env.luck = [draws](Rng& rng) {
    if (draws == 0) return -1.01;
    double slope = 0.0;
    for (int n = 0; n < draws; ++n) slope += rng.Uniform() < 0.01 ? -200.0 : 1.0;
    return slope / draws;
  };
  GrpoOptions options;
  options.states = 64;
  options.phases = {{.updates = 1500}};
  options.scale = scale;
  options.kl_weight_first = options.kl_weight_last = 0.0;
  options.entropy_weight = 0.0;
  options.learning_rate_first = options.learning_rate_last = 0.01;
  options.gradient_clip = clip;
  const MlpPolicy policy = Trained(ToyPolicy(1, 0.3, 1, {16}), env, options);
  double mean = 0.0;
  for (int i = 0; i < 9; ++i) mean += policy.Law(std::vector<double>{-1.0 + 0.25 * i}).Median() / 9;
  return mean;
}

TEST_F(GrpoLearning, GroupScaleOptimisesAVoteNotTheMean) {
  EXPECT_LE(TailFlip(AdvantageScale::kNone, 1), -0.9);
  EXPECT_LE(TailFlip(AdvantageScale::kEma, 1), -0.9);
  EXPECT_LE(TailFlip(AdvantageScale::kGroup, 0), -0.9);
  EXPECT_LE(TailFlip(AdvantageScale::kBatch, 0), -0.9);
  EXPECT_GE(TailFlip(AdvantageScale::kGroup, 1), 0.9);
  EXPECT_GE(TailFlip(AdvantageScale::kGroup, 64), 0.9);
  // Clipping the gradient's norm is a vote too, where single draws decide: `grad_clipped` tells.
  EXPECT_GE(TailFlip(AdvantageScale::kEma, 1, 0.5), 0.9);
  EXPECT_LE(TailFlip(AdvantageScale::kEma, 0, 0.5), -0.9);
}

TEST_F(GrpoLearning, LongerHorizonsSeeWhatTheBanditCannot) {
  GrpoOptions options;
  options.states = 32;
  options.discount = 1.0;
  options.kl_weight_first = options.kl_weight_last = 0.0;
  options.entropy_weight = 0.0;
  options.learning_rate_first = 3e-3;
  options.phases = {{.updates = 400, .horizon = 3}};
  ToyRegulator env;
  const MlpPolicy start = ToyPolicy(ToyRegulator::kSize, 0.3, 1, {32, 32});
  const MlpPolicy far = Trained(start, env, options);
  EXPECT_NEAR(ToyRegulator::Gain(far, 0), 0.6154, 0.05);
  EXPECT_GE(ToyRegulator::Gain(far, 0), 0.58);
  EXPECT_NEAR(ToyRegulator::Gain(far, 1), 0.6000, 0.05);
  EXPECT_NEAR(ToyRegulator::Gain(far, 2), 0.5000, 0.05);
  options.phases = {{.updates = 900, .horizon = 1}};
  const MlpPolicy near = Trained(start, env, options);
  EXPECT_LE(ToyRegulator::Gain(near, 0), 0.55);
  EXPECT_NEAR(ToyRegulator::Gain(near, 0), 0.5, 0.05);
}

TEST_F(GrpoLearning, WhereTheActionDoesNothingThePolicyStays) {
  ToyBandit env = Quadratic();
  env.reward = [](std::span<const double> x, double, double luck) { return x[0] + luck; };
  env.luck = [](Rng& rng) { return 100.0 * rng.Normal(); };
  GrpoOptions options = QuadraticOptions(1, AdvantageScale::kEma);
  options.phases = {{.updates = 200}};
  options.kl_weight_first = options.kl_weight_last = 0.05;
  GrpoTrainer trainer(ToyPolicy(6, 0.5), env, options);
  trainer.Run([](const UpdateMetrics& m) {
    EXPECT_EQ(m.reward_std, 0.0);
    EXPECT_EQ(m.frac_reward_zero_std, 1.0);
    EXPECT_LE(m.kl, 1e-3);
    return true;
  });
}

}  // namespace
}  // namespace kernelx
