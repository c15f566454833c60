// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/grpo_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernelx/nn/mlp.h"

namespace kernelx {
namespace {

constexpr GrpoLossOptions kFull{.clip_low = 0.2,
                                .clip_high = 0.28,
                                .kl_weight = 0.1,
                                .entropy_weight = 0.02,
                                .sample_weight = 1.0 / (20 * 8)};

/// States, samples and laws of a policy a little away from where it stands.
struct Case {
  static constexpr size_t kStates = 20;
  static constexpr size_t kGroup = 8;
  static constexpr size_t kInputs = 6;
  std::vector<double> inputs, u, advantages;
  std::vector<uint8_t> alive = std::vector<uint8_t>(kStates * kGroup, 1);
  std::vector<TanhGaussian> old_law, reference;

  explicit Case(double away) {
    Rng rng(21);
    for (size_t i = 0; i < kStates; ++i) {
      for (size_t k = 0; k < kInputs; ++k) inputs.push_back(rng.Normal());
      old_law.push_back({away * rng.Normal(), std::log(0.5) + away * rng.Normal()});
      reference.push_back({rng.Normal(), -0.5 + 0.3 * rng.Normal()});
      for (size_t j = 0; j < kGroup; ++j) {
        u.push_back(old_law[i].mean + std::exp(old_law[i].log_std) * rng.Normal());
        advantages.push_back(rng.Normal());
      }
    }
  }
  GrpoColumn Column(size_t i) const {
    return {.u = {u.data() + i * kGroup, kGroup},
            .advantages = {advantages.data() + i * kGroup, kGroup},
            .alive = {alive.data() + i * kGroup, kGroup},
            .old_law = old_law[i],
            .reference = reference[i]};
  }
};

/// Loss and gradient of a whole network of type T over a case.
template <typename T>
double Loss(const Mlp<T>& net, MlpGradient<T>& pass, const Case& c) {
  std::array<GrpoSums, MlpGradient<T>::kShards> sums{};
  pass.Run(
      net, Case::kStates, 1,
      [&](MlpBlock<T>& block, size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          for (size_t k = 0; k < Case::kInputs; ++k) {
            block.input(i - begin)[k] = static_cast<T>(c.inputs[i * Case::kInputs + k]);
          }
        }
      },
      [&](MlpBlock<T>& block, size_t begin, size_t end, size_t shard) {
        for (size_t i = begin; i < end; ++i) {
          const auto o = block.output(i - begin);
          const auto d = GrpoLoss(o[0], o[1], c.Column(i), kFull, sums[shard]);
          block.output_gradient(i - begin)[0] = static_cast<T>(d.o0);
          block.output_gradient(i - begin)[1] = static_cast<T>(d.o1);
        }
      });
  double loss = 0.0;
  for (const GrpoSums& s : sums) loss += s.loss;
  return loss;
}

/// max |analytic - numeric| / max |numeric| over all parameters.
template <typename T>
double GradientError(const Case& c, double step) {
  Mlp<T> net({Case::kInputs, 16, 16, 2}, Activation::kTanh);
  Rng rng(2);
  net.Initialise(rng, std::sqrt(2.0), 0.3);
  MlpGradient<T> pass(net);
  Loss(net, pass, c);
  const std::vector<T> gradient(pass.gradient().begin(), pass.gradient().end());
  double worst = 0.0;
  double largest = 0.0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    if (gradient[i] == T{0}) continue;  // padding
    const T at = net.parameters()[i];
    const auto with = [&](double w) {
      net.Modify([&](std::span<T> p) { p[i] = static_cast<T>(w); });
      return Loss(net, pass, c);
    };
    const double numeric = (with(at + step) - with(at - step)) / (2 * step);
    with(at);
    worst = std::max(worst, std::abs(numeric - gradient[i]));
    largest = std::max(largest, std::abs(numeric));
  }
  EXPECT_GT(largest, 1e-3);
  return worst / largest;
}

TEST(GrpoLoss, GradientMatchesCentralDifferencesThroughTheNetwork) {
  EXPECT_LE(GradientError<double>(Case(0.0), 1e-6), 1e-7);
  EXPECT_LE(GradientError<double>(Case(0.3), 1e-6), 1e-7);
  EXPECT_LE(GradientError<float>(Case(0.3), 1e-3), 1e-2);
}

/// Gradient to o0 of one sample with the given ratio and advantage, no KL or entropy.
double OneSample(double ratio, double advantage, GrpoSums* sums_out = nullptr) {
  // Old law N(0, 0.5); the new one differs in the mean only. For u = 1:
  // ln ratio = (1 - (1 - m)^2) / (2 * 0.25), solved for m.
  const double m = 1.0 - std::sqrt(1.0 - 0.5 * std::log(ratio));
  const double u = 1.0;
  const uint8_t alive = 1;
  GrpoSums sums;
  const auto d = GrpoLoss(PolicyHead::MeanOutput(m), 0.0,
                          {.u = {&u, 1},
                           .advantages = {&advantage, 1},
                           .alive = {&alive, 1},
                           .old_law = {0.0, std::log(0.5)},
                           .reference = {}},
                          {}, sums);
  if (sums_out != nullptr) *sums_out = sums;
  return d.o0;
}

TEST(GrpoLoss, ClipsWhereItShould) {
  EXPECT_EQ(OneSample(1.3, 1.0), 0.0);
  EXPECT_NE(OneSample(1.3, -1.0), 0.0);
  EXPECT_EQ(OneSample(0.7, -1.0), 0.0);
  EXPECT_NE(OneSample(0.7, 1.0), 0.0);
  EXPECT_NE(OneSample(1.27, 1.0), 0.0);
  EXPECT_NE(OneSample(0.81, -1.0), 0.0);
  GrpoSums sums;
  OneSample(1.3, 1.0, &sums);
  EXPECT_EQ(sums.clipped_high, 1.0);
  EXPECT_NEAR(sums.loss, -1.28, 1e-12);
  OneSample(0.7, -2.0, &sums);
  EXPECT_EQ(sums.clipped_low, 1.0);
  EXPECT_NEAR(sums.loss, 1.6, 1e-12);
}

TEST(GrpoLoss, OnPolicyItIsReinforce) {
  const double o0 = 0.4;
  const double o1 = -0.3;
  const PolicyHead head(o0, o1);
  const std::vector<double> u = {0.9, -0.2, 0.5};
  const std::vector<double> a = {1.0, -0.4, -0.6};
  const std::vector<uint8_t> alive(3, 1);
  GrpoSums sums;
  const auto d = GrpoLoss(
      o0, o1, {.u = u, .advantages = a, .alive = alive, .old_law = head.law, .reference = head.law},
      {.sample_weight = 1.0 / 3}, sums);
  double d_mean = 0.0;
  double d_log_std = 0.0;
  for (size_t j = 0; j < 3; ++j) {
    const auto log_density = LogDensityAt(head.law, u[j]);
    d_mean -= a[j] / 3 * log_density.d_mean;
    d_log_std -= a[j] / 3 * log_density.d_log_std;
  }
  EXPECT_NEAR(d.o0, d_mean * head.d_mean, 1e-12);
  EXPECT_NEAR(d.o1, d_log_std * head.d_log_std, 1e-12);
  EXPECT_EQ(sums.clipped_low + sums.clipped_high, 0.0);
  EXPECT_NEAR(sums.loss, -(1.0 - 0.4 - 0.6) / 3, 1e-15);  // every ratio is exactly 1
}

TEST(GrpoLoss, NoAdvantageNoGradientNotEvenARoundingError) {
  const std::vector<double> u = {0.9, -0.2};
  const std::vector<double> zero(2, 0.0);
  const std::vector<uint8_t> alive(2, 1);
  GrpoSums sums;
  const auto d = GrpoLoss(
      0.3, 0.2,
      {.u = u, .advantages = zero, .alive = alive, .old_law = {0.1, -0.4}, .reference = {1, 0}}, {},
      sums);
  EXPECT_EQ(d.o0, 0.0);
  EXPECT_EQ(d.o1, 0.0);
}

TEST(GrpoLoss, EndedMembersDoNotCount) {
  const std::vector<double> u = {0.9, 1e6};
  const std::vector<double> a = {1.0, 1.0};
  const std::vector<uint8_t> alive = {1, 0};
  GrpoSums both;
  const GrpoLossOptions options{.kl_weight = 0.5, .entropy_weight = 0.1};
  const TanhGaussian law{0.1, -0.4};
  const auto d =
      GrpoLoss(0.3, 0.2, {.u = u, .advantages = a, .alive = alive, .old_law = law, .reference = {}},
               options, both);
  GrpoSums one;
  const auto e = GrpoLoss(0.3, 0.2,
                          {.u = {u.data(), 1},
                           .advantages = {a.data(), 1},
                           .alive = {alive.data(), 1},
                           .old_law = law,
                           .reference = {}},
                          options, one);
  EXPECT_EQ(d.o0, e.o0);
  EXPECT_EQ(d.o1, e.o1);
  EXPECT_EQ(both.samples, 1.0);
  EXPECT_EQ(both.loss, one.loss);
}

TEST(GrpoLoss, FarRatiosStayFinite) {
  const std::vector<double> u = {40.0, -40.0};
  const std::vector<double> a = {-1.0, 1.0};
  const std::vector<uint8_t> alive(2, 1);
  GrpoSums sums;
  const auto d = GrpoLoss(
      20.0, -20.0, {.u = u, .advantages = a, .alive = alive, .old_law = {-3, 0.5}, .reference = {}},
      kFull, sums);
  EXPECT_TRUE(std::isfinite(d.o0) && std::isfinite(d.o1) && std::isfinite(sums.loss));
}

}  // namespace
}  // namespace kernelx
