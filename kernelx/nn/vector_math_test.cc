// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

TEST(VectorMath, TanhIsAccurateEverywhere) {
  std::vector<float> x;
  for (float v = -12.0F; v <= 12.0F; v += 1e-4F) x.push_back(v);
  for (float v = 1e-30F; v < 1.0F; v *= 1.1F) x.insert(x.end(), {v, -v});
  x.insert(x.end(), {0.0F, 1e30F, -1e30F});
  std::vector<float> y = x;
  TanhInPlace(y);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::tanh(double{x[i]});
    ASSERT_NEAR(y[i], exact, 4e-7) << x[i];
    ASSERT_LE(std::abs(y[i]), 1.0F) << x[i];
    if (std::abs(x[i]) < 1e-3F) {  // also relative, where the value is small
      ASSERT_NEAR(y[i], exact, 1e-6 * std::abs(exact)) << x[i];
    }
    if (std::abs(x[i]) > 9.0F) {
      ASSERT_EQ(y[i], std::copysign(1.0F, x[i]));
    }
  }
}

TEST(VectorMath, ExpAndLogAreAccurate) {
  std::vector<double> x;
  for (double v = -50.0; v <= 50.0; v += 0.0137) x.push_back(v);
  std::vector<double> e = x;
  ExpInPlace(e);
  std::vector<double> l = e;
  LogInPlace(l);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(e[i] / std::exp(x[i]), 1.0, 1e-15);
    ASSERT_NEAR(l[i], std::log(e[i]), 1e-15 + 1e-14 * std::abs(x[i]));
  }
}

TEST(VectorMath, PlaceAndLengthDoNotMatter) {
  Rng rng(1);
  std::vector<double> x(40);
  for (double& v : x) v = 3.0 * rng.Normal();
  std::vector<double> whole = x;
  ExpInPlace(whole);
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t length = 0; length < 20; ++length) {
      std::vector<double> part = x;
      ExpInPlace({part.data() + begin, length});
      for (size_t i = 0; i < length; ++i) ASSERT_EQ(part[begin + i], whole[begin + i]);
      ASSERT_EQ(part[begin + length], x[begin + length]);
    }
  }
}

}  // namespace
}  // namespace kernelx
