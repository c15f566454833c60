// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/adam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kernelx {
namespace {

TEST(Adam, FollowsThePaperStepByStep) {
  Adam<double> adam(2, {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-5});
  std::vector<double> p = {1.0, -2.0};
  // The textbook recursion, written out.
  double m[2] = {};
  double v[2] = {};
  std::vector<double> expected = p;
  for (int t = 1; t <= 5; ++t) {
    const std::vector<double> g = {0.3 * t, -1.0 / t};
    for (int i = 0; i < 2; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      const double m_hat = m[i] / (1 - std::pow(0.9, t));
      const double v_hat = v[i] / (1 - std::pow(0.999, t));
      expected[i] -= 0.01 * m_hat / (std::sqrt(v_hat) + 1e-5);
    }
    adam.Step(p, g, 0.01);
    EXPECT_NEAR(p[0], expected[0], 1e-14);
    EXPECT_NEAR(p[1], expected[1], 1e-14);
  }
  EXPECT_EQ(adam.steps(), 5U);
}

TEST(Adam, ZeroGradientLeavesZeroMomentsAndWeightsAlone) {
  Adam<float> adam(20);
  std::vector<float> p(20, 0.5F);
  adam.Step(p, std::vector<float>(20, 0.0F), 1e-3);
  EXPECT_EQ(p, std::vector<float>(20, 0.5F));
}

TEST(Adam, RestoredContinuesBitForBit) {
  std::vector<float> p(33, 0.1F);
  std::vector<float> g(33);
  for (size_t i = 0; i < g.size(); ++i) g[i] = 0.01F * static_cast<float>(i) - 0.1F;
  Adam<float> adam(33);
  for (int i = 0; i < 3; ++i) adam.Step(p, g, 1e-2);
  Adam<float> other(33);
  other.Restore(adam.steps(), adam.first_moment(), adam.second_moment());
  std::vector<float> q = p;
  adam.Step(p, g, 1e-2);
  other.Step(q, g, 1e-2);
  EXPECT_EQ(p, q);
}

TEST(ClipNorm, ScalesOnlyWhatIsTooLong) {
  std::vector<float> g(10, 0.0F);
  g[0] = 3.0F;
  g[9] = -4.0F;
  EXPECT_EQ(ClipNorm<float>(g, 5.0), 5.0);
  EXPECT_EQ(g[9], -4.0F);
  EXPECT_EQ(ClipNorm<float>(g, 0.5), 5.0);
  EXPECT_NEAR(g[0], 0.3F, 1e-7);
  EXPECT_NEAR(g[9], -0.4F, 1e-7);
}

}  // namespace
}  // namespace kernelx
