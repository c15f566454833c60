// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ground/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace kernelx {
namespace {

TEST(Philox, GivesThePublishedKnownAnswers) {
  // The known-answer vectors of Random123 for philox4x32-10.
  EXPECT_EQ(Philox::Generate({0, 0, 0, 0}, {0, 0}),
            (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      Philox::Generate({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      Philox::Generate({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, ACopyContinuesTheStreamAndAnotherStreamDoesNot) {
  Rng rng(7, 1);
  rng.Bits();  // an odd place: half a block is still to come
  Rng copy = rng;
  Rng other(7, 2);
  for (int i = 0; i < 9; ++i) {
    const uint64_t bits = rng.Bits();
    EXPECT_EQ(bits, copy.Bits());
    EXPECT_NE(bits, other.Bits());
  }
}

TEST(Rng, UniformStaysBelowOneAndFillsTheRange) {
  Rng rng(3);
  double sum = 0.0;
  for (int i = 0; i < 20000; ++i) {
    const double u = rng.Uniform(-2.0, 2.0);
    ASSERT_GE(u, -2.0);
    ASSERT_LT(u, 2.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 20000, 0.0, 0.033);  // four standard errors: 4 * (4 / sqrt(12)) / sqrt(20000)
}

TEST(Rng, BelowReachesEveryValueAndNoOther) {
  Rng rng(5);
  std::set<uint64_t> seen;
  for (int i = 0; i < 400; ++i) seen.insert(rng.Below(7));
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(rng.Below(1), 0U);
}

TEST(Rng, NormalHasMeanZeroAndVarianceOne) {
  Rng rng(11);
  double sum = 0.0;
  double squares = 0.0;
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.Normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.02);      // four standard errors
  EXPECT_NEAR(squares / kDraws, 1.0, 0.03);  // 4 * sqrt(2 / n)
}

TEST(MixSeed, TellsNeighboursApart) {
  std::set<uint64_t> seen;
  for (uint64_t a = 0; a < 30; ++a) {
    for (uint64_t b = 0; b < 30; ++b) seen.insert(MixSeed(a, b));
  }
  EXPECT_EQ(seen.size(), 900U);
}

}  // namespace
}  // namespace kernelx
