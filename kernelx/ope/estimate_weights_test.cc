// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/estimate_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr int kCells = 200000;  // of the midpoint rule

using Kind = ActionLaw::Kind;

const ActionLaw kZero = {.kind = Kind::kPoint, .center = 0.0};

ActionLaw Point(double center) { return {.kind = Kind::kPoint, .center = center}; }
ActionLaw Gaussian(double center, double sigma) {
  return {.kind = Kind::kTanhGaussian, .center = center, .log_std = std::log(sigma)};
}

TEST(ImportanceWeight, PointAtZeroUsesTheMass) {
  EXPECT_EQ(ImportanceWeight(kZero, 0.0, 0.15, 0.15), 1.0 / 0.15);
  EXPECT_EQ(ImportanceWeight(kZero, 1e-9, 0.15, 0.15), 0.0);
}

TEST(ImportanceWeight, PointAtZeroWithoutMassUsesTheKernel) {
  EXPECT_TRUE(UsesKernel(kZero, 0.0));
  EXPECT_FALSE(UsesKernel(kZero, 0.15));
  EXPECT_NEAR(ImportanceWeight(kZero, 0.0, 0.0, 0.15), 5.0 / 0.5, 1e-12);
}

TEST(ImportanceWeight, ContinuousLawsHaveNoMassAtZero) {
  EXPECT_EQ(ImportanceWeight(Point(0.05), 0.0, 0.15, 0.15), 0.0);
  EXPECT_EQ(ImportanceWeight(Gaussian(0.0, 0.5), 0.0, 0.15, 0.15), 0.0);
  EXPECT_EQ(ImportanceWeight({.kind = Kind::kUniform}, 0.0, 0.15, 0.15), 0.0);
}

TEST(ImportanceWeight, KernelByHand) {
  // Peak 3/4 / 0.15 = 5, over the density 1/2; half a bandwidth away 3/4 of that.
  EXPECT_NEAR(ImportanceWeight(Point(0.5), 0.5, 0.0, 0.15), 10.0, 1e-12);
  EXPECT_NEAR(ImportanceWeight(Point(0.5), 0.575, 0.0, 0.15), 7.5, 1e-12);
  EXPECT_EQ(ImportanceWeight(Point(0.5), 0.66, 0.0, 0.15), 0.0);
  EXPECT_NEAR(ImportanceWeight(Point(0.5), 0.5, 0.2, 0.15), 12.5, 1e-12);
}

TEST(ImportanceWeight, KernelIsCorrectedAtTheEnds) {
  EXPECT_NEAR(KernelMassInside(0.0, 0.15), 1.0, 1e-15);
  EXPECT_NEAR(KernelMassInside(1.0, 0.15), 0.5, 1e-15);
  EXPECT_NEAR(KernelMassInside(-1.0, 0.15), 0.5, 1e-15);
  EXPECT_NEAR(KernelMassInside(0.925, 0.15), 0.84375, 1e-12);
  EXPECT_NEAR(ImportanceWeight(Point(1.0), 1.0, 0.0, 0.15), 20.0, 1e-12);
  // A point outside is its clamp.
  EXPECT_EQ(ImportanceWeight(Point(3.0), 0.9, 0.0, 0.15),
            ImportanceWeight(Point(1.0), 0.9, 0.0, 0.15));
}

TEST(ImportanceWeight, DensitiesByHand) {
  EXPECT_EQ(ImportanceWeight({.kind = Kind::kUniform}, 0.3, 0.0, 0.15), 1.0);
  EXPECT_EQ(ImportanceWeight({.kind = Kind::kUniform}, 0.3, 0.5, 0.15), 2.0);
  // atanh 0.4 = 0.42365; N(0.42365; 0.3, 0.5) / (1 - 0.16) = 0.92126.
  EXPECT_NEAR(ImportanceWeight(Gaussian(0.3, 0.5), 0.4, 0.2, 0.15), 0.9212571434947129 / 0.4, 1e-9);
}

TEST(ImportanceWeight, MeanUnderTheLotteryIsOne) {
  const std::vector<ActionLaw> laws = {
      Point(0.0),         Point(0.07),         Point(-1.0),        Point(0.95),
      Gaussian(0.3, 0.5), Gaussian(-1.0, 0.2), Gaussian(0.0, 1.0), {.kind = Kind::kUniform}};
  for (const double p_zero : {0.0, 0.15}) {
    for (const ActionLaw& law : laws) {
      double mean = p_zero > 0.0 ? p_zero * ImportanceWeight(law, 0.0, p_zero, 0.15) : 0.0;
      for (int i = 0; i < kCells; ++i) {
        const double action = -1.0 + (i + 0.5) * 2.0 / kCells;
        mean += ImportanceWeight(law, action, p_zero, 0.15) * (1.0 - p_zero) / kCells;
      }
      EXPECT_NEAR(mean, 1.0, 1e-6) << law.center << " " << law.log_std << " " << p_zero;
    }
  }
}

TEST(ImportanceWeight, RefusesNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)ImportanceWeight(Point(nan), 0.3, 0.0, 0.15), Error);
  EXPECT_THROW((void)ImportanceWeight(Gaussian(nan, 0.3), 0.3, 0.0, 0.15), Error);
}

void ExpectBasis(const ActionBasis& actual, const ActionBasis& expected, double tolerance) {
  for (size_t j = 0; j < kActionFunctions; ++j) EXPECT_NEAR(actual[j], expected[j], tolerance) << j;
}

TEST(ExpectedBasis, OfPointsAndKernels) {
  ExpectBasis(ExpectedBasis(kZero, 0.15, 0.15), {0.0, 0.0, 0.0}, 0.0);
  // The kernel's variance is h^2 / 5; its mean distance from 0 is 3/8 h.
  ExpectBasis(ExpectedBasis(Point(-0.4), 0.15, 0.2), {-0.4, 0.16 + 0.008, 0.4}, 1e-12);
  ExpectBasis(ExpectedBasis(kZero, 0.0, 0.2), {0.0, 0.008, 0.075}, 1e-12);
  // Half a kernel at the end: mean 1 - 3/8 h, second moment 1 - 3/4 h + h^2 / 5.
  ExpectBasis(ExpectedBasis(Point(1.0), 0.15, 0.2), {0.925, 0.858, 0.925}, 1e-12);
}

TEST(ExpectedBasis, OfContinuousLaws) {
  ExpectBasis(ExpectedBasis({.kind = Kind::kUniform}, 0.15, 0.15), {0.0, 1.0 / 3.0, 0.5}, 1e-15);
  // Oracle: the trapezoidal rule with two million nodes.
  ExpectBasis(ExpectedBasis(Gaussian(0.3, 0.5), 0.15, 0.15),
              {0.24353470429, 0.21708219653, 0.39686361213}, 1e-8);
  ExpectBasis(ExpectedBasis(Gaussian(-1.2, std::exp(0.5)), 0.0, 0.15),
              {-0.47888609263, 0.65333864877, 0.75620258563}, 1e-8);
  ExpectBasis(ExpectedBasis(Gaussian(0.8, 0.08), 0.0, 0.15),
              {0.66167119572, 0.43982814285, 0.66167119572}, 1e-8);
}

TEST(ActionLaws, MedianAndTemperature) {
  EXPECT_EQ(AtMedian(Gaussian(0.3, 0.5)).kind, Kind::kPoint);
  EXPECT_NEAR(AtMedian(Gaussian(0.3, 0.5)).center, std::tanh(0.3), 1e-15);
  EXPECT_NEAR(Tempered(Gaussian(0.3, 0.5), 0.5).log_std, std::log(0.25), 1e-12);
  EXPECT_EQ(Tempered(Point(0.3), 0.5).center, 0.3);
}

}  // namespace
}  // namespace kernelx
