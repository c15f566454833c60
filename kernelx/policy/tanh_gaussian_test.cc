// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/policy/tanh_gaussian.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace kernelx {
namespace {

const double kLogHalf = std::log(0.5);

TEST(TanhGaussian, LogDensityMatchesTheTable) {
  struct Row {
    double mean, log_std, u, action, log_density, d_mean, d_log_std;
  };
  // Worked in float64 by an independent program.
  const Row rows[] = {
      {0, 0, 0, 0, -0.918938533, 0, -1},
      {0.3, kLogHalf, 1.2, 0.833654607, -0.658413409, 3.600000000, 2.240000000},
      {-1, -1, -0.4, -0.379948962, -1.093061660, 4.433433659, 1.660060196},
      {2, -2, 2.5, 0.986614298, -2.116570951, 27.299075017, 12.649537508},
      {0, 0, 9.5, 0.999999989, -28.430232883, 9.5, 89.25},
  };
  for (const Row& row : rows) {
    const auto got = LogDensityAt({.mean = row.mean, .log_std = row.log_std}, row.u);
    EXPECT_NEAR(got.value, row.log_density, 1e-7);
    EXPECT_NEAR(got.d_mean, row.d_mean, 1e-7);
    EXPECT_NEAR(got.d_log_std, row.d_log_std, 1e-7);
    EXPECT_NEAR(std::tanh(row.u), row.action, 1e-7);
    const ActionLaw law{
        .kind = ActionLaw::Kind::kTanhGaussian, .center = row.mean, .log_std = row.log_std};
    EXPECT_NEAR(law.LogDensity(std::tanh(row.u)), row.log_density, 1e-6);
  }
}

TEST(TanhGaussian, DensityIntegratesToOne) {
  for (const TanhGaussian law :
       {TanhGaussian{0, 0}, TanhGaussian{0.3, kLogHalf}, TanhGaussian{1.5, std::log(0.2)}}) {
    const ActionLaw action{
        .kind = ActionLaw::Kind::kTanhGaussian, .center = law.mean, .log_std = law.log_std};
    constexpr int kCells = 200'000;
    double sum = 0.0;
    for (int i = 0; i < kCells; ++i) {
      sum += std::exp(action.LogDensity(-1.0 + (i + 0.5) * 2.0 / kCells));
    }
    EXPECT_NEAR(sum * 2.0 / kCells, 1.0, 1e-6);
  }
}

TEST(TanhGaussian, FarOutStaysFinite) {
  for (const double u : {9.5, 20.0, -300.0}) {
    const auto got = LogDensityAt({}, u);
    EXPECT_TRUE(std::isfinite(got.value) && std::isfinite(got.d_mean) &&
                std::isfinite(got.d_log_std));
  }
  const ActionLaw law{.kind = ActionLaw::Kind::kTanhGaussian};
  EXPECT_TRUE(std::isfinite(law.LogDensity(1.0)));
  EXPECT_EQ(law.LogDensity(1.0), law.LogDensity(-1.0));
  EXPECT_EQ(law.LogDensity(1.0000001), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(law.LogDensity(std::nan("")), -std::numeric_limits<double>::infinity());
}

TEST(TanhGaussian, EntropyMatchesTheTable) {
  EXPECT_NEAR(EntropyOf({0, kLogHalf}).value, 0.499967347, 1e-7);
  EXPECT_NEAR(EntropyOf({0.3, kLogHalf}).value, 0.426249439, 1e-7);
  EXPECT_NEAR(EntropyOf({0, 0}).value, 0.669804118, 1e-7);
  // The maximum over sigma lies below the uniform's ln 2.
  const auto top = EntropyOf({0, std::log(0.8744)});
  EXPECT_NEAR(top.value, 0.683636, 1e-5);
  EXPECT_NEAR(top.d_log_std, 0.0, 1e-4);
  EXPECT_NEAR(top.d_mean, 0.0, 1e-12);
}

TEST(TanhGaussian, KullbackLeiblerMatchesTheClosedForm) {
  const auto kl = KullbackLeibler({0.4, std::log(0.5)}, {0.0, std::log(0.8)});
  EXPECT_NEAR(kl.value, 0.2903161, 1e-6);
  EXPECT_NEAR(kl.d_mean, 0.625, 1e-12);
  EXPECT_EQ(KullbackLeibler({0.7, -1.0}, {0.7, -1.0}).value, 0.0);
}

TEST(TanhGaussian, SampledKullbackLeiblerAgrees) {
  const TanhGaussian law{0.4, std::log(0.5)};
  const TanhGaussian reference{0.0, std::log(0.8)};
  Rng rng(7);
  double sum = 0.0;
  constexpr int kDraws = 2'000'000;
  for (int i = 0; i < kDraws; ++i) {
    const double z = rng.Normal();
    const double x = (law.mean + 0.5 * z - reference.mean) / 0.8;
    sum += -0.5 * z * z - law.log_std + 0.5 * x * x + reference.log_std;
  }
  EXPECT_NEAR(sum / kDraws, 0.2903161, 0.002);
}

TEST(TanhGaussian, DerivativesMatchDifferences) {
  constexpr double kStep = 1e-5;
  const TanhGaussian reference{-0.2, -0.3};
  for (const TanhGaussian law :
       {TanhGaussian{0.3, -0.5}, TanhGaussian{-2.1, 0.4}, TanhGaussian{1.7, -2.4}}) {
    const auto check = [&](auto of) {
      const TanhGaussianValue at = of(law);
      const double up = of({law.mean + kStep, law.log_std}).value;
      const double down = of({law.mean - kStep, law.log_std}).value;
      EXPECT_NEAR(at.d_mean, (up - down) / (2 * kStep), 1e-6 * (1 + std::abs(at.d_mean)));
      const double wide = of({law.mean, law.log_std + kStep}).value;
      const double thin = of({law.mean, law.log_std - kStep}).value;
      EXPECT_NEAR(at.d_log_std, (wide - thin) / (2 * kStep), 1e-6 * (1 + std::abs(at.d_log_std)));
    };
    check([](const TanhGaussian& l) { return LogDensityAt(l, 0.8); });
    check([](const TanhGaussian& l) { return EntropyOf(l); });
    check([&](const TanhGaussian& l) { return KullbackLeibler(l, reference); });
  }
}

TEST(PolicyHead, StaysInBoundsAndInverts) {
  EXPECT_NEAR(std::exp(PolicyHead(0, 0).law.log_std), 0.5, 1e-12);
  EXPECT_NEAR(PolicyHead(PolicyHead::MeanOutput(-1.25), 0).law.mean, -1.25, 1e-12);
  EXPECT_NEAR(std::exp(PolicyHead(0, PolicyHead::LogStdOutput(0.3)).law.log_std), 0.3, 1e-12);
  for (const double o : {-1e30, -20.0, 20.0, 1e30}) {
    const PolicyHead head(o, o);
    EXPECT_LE(std::abs(head.law.mean), 3.0);
    EXPECT_GE(head.law.log_std, -2.5);
    EXPECT_LE(head.law.log_std, 0.5);
    EXPECT_TRUE(std::isfinite(head.d_mean) && std::isfinite(head.d_log_std));
  }
  constexpr double kStep = 1e-6;
  const PolicyHead head(1.3, -0.7);
  EXPECT_NEAR(
      head.d_mean,
      (PolicyHead(1.3 + kStep, 0).law.mean - PolicyHead(1.3 - kStep, 0).law.mean) / (2 * kStep),
      1e-8);
  EXPECT_NEAR(head.d_log_std,
              (PolicyHead(0, -0.7 + kStep).law.log_std - PolicyHead(0, -0.7 - kStep).law.log_std) /
                  (2 * kStep),
              1e-8);
}

TEST(ActionLaw, MediansDensitiesAndDraws) {
  const ActionLaw point{.kind = ActionLaw::Kind::kPoint, .center = -0.25};
  const ActionLaw uniform{.kind = ActionLaw::Kind::kUniform};
  const ActionLaw squashed{
      .kind = ActionLaw::Kind::kTanhGaussian, .center = 0.5, .log_std = std::log(0.4)};
  EXPECT_EQ(point.Median(), -0.25);
  EXPECT_EQ(uniform.Median(), 0.0);
  EXPECT_DOUBLE_EQ(squashed.Median(), std::tanh(0.5));
  EXPECT_EQ(point.LogDensity(-0.25), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(uniform.LogDensity(0.9), -std::numbers::ln2);
  EXPECT_EQ(uniform.Entropy(), std::numbers::ln2);

  Rng rng(3);
  Rng twin(3);
  EXPECT_DOUBLE_EQ(squashed.Sample(rng), std::tanh(0.5 + std::exp(std::log(0.4)) * twin.Normal()));
  EXPECT_EQ(uniform.Sample(rng), twin.Uniform(-1.0, 1.0));
  EXPECT_EQ(point.Sample(rng), -0.25);
  EXPECT_EQ(rng.Bits(), twin.Bits());  // the point drew nothing
}

}  // namespace
}  // namespace kernelx
