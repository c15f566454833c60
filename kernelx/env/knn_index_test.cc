// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/knn_index.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernelx/env/test_scenario.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

/// Every point, in order; the first of the nearest.
KnnIndex::Neighbour BruteForce(const std::vector<double>& points, size_t dimensions,
                               const std::vector<double>& query) {
  KnnIndex::Neighbour best{.point = 0, .distance = std::numeric_limits<double>::infinity()};
  for (size_t i = 0; i * dimensions < points.size(); ++i) {
    double squared = 0.0;
    for (size_t d = 0; d < dimensions; ++d) {
      const double difference = points[i * dimensions + d] - query[d];
      squared += difference * difference;
    }
    const double distance = std::sqrt(squared);
    if (distance < best.distance) best = {.point = static_cast<uint32_t>(i), .distance = distance};
  }
  return best;
}

void ExpectAsBruteForce(const std::vector<double>& points, size_t dimensions,
                        const std::vector<double>& query) {
  const KnnIndex index(points, dimensions);
  const auto found = index.Nearest(query);
  const auto expected = BruteForce(points, dimensions, query);
  EXPECT_EQ(found.point, expected.point);
  EXPECT_EQ(found.distance, expected.distance);  // to the bit
}

/// The first `dimensions` seed features of real rows.
std::vector<double> RealPoints(size_t dimensions) {
  std::vector<double> points;
  for (size_t i = 0; i < Sample().size(); ++i) {
    const auto state = Sample().state(i);
    points.insert(points.end(), state.begin(), state.begin() + static_cast<ptrdiff_t>(dimensions));
  }
  return points;
}

class KnnIndexOfRealRows : public testing::TestWithParam<size_t> {};

TEST_P(KnnIndexOfRealRows, AnswersAsBruteForce) {
  const size_t dimensions = GetParam();
  const std::vector<double> points = RealPoints(dimensions);
  const KnnIndex index(points, dimensions);
  ASSERT_EQ(index.size(), Sample().size());
  Rng rng(dimensions);
  for (int k = 0; k < 150; ++k) {
    // On a row, near one, and far from all.
    const double spread = std::vector{0.0, 0.3, 1e4}[static_cast<size_t>(k % 3)];
    std::vector<double> query(dimensions);
    const size_t row = rng.Below(index.size());
    for (size_t d = 0; d < dimensions; ++d) {
      query[d] = points[row * dimensions + d] + spread * rng.Normal();
    }
    const auto found = index.Nearest(query);
    const auto expected = BruteForce(points, dimensions, query);
    ASSERT_EQ(found.point, expected.point) << "query " << k << " near row " << row;
    ASSERT_EQ(found.distance, expected.distance);
  }
}
INSTANTIATE_TEST_SUITE_P(Dimensions, KnnIndexOfRealRows, testing::Range(size_t{1}, size_t{11}));

TEST(KnnIndex, FindsTheOnlyPoint) {
  ExpectAsBruteForce({3.0, 4.0}, 2, {0.0, 0.0});
  EXPECT_EQ(KnnIndex(std::vector{3.0, 4.0}, 2).Nearest(std::vector{0.0, 0.0}).distance, 5.0);
}

TEST(KnnIndex, OfEqualPointsGivesTheFirst) {
  const std::vector<double> points(3 * 1000, 7.0);
  const auto found = KnnIndex(points, 3).Nearest(std::vector{7.0, 7.0, 8.0});
  EXPECT_EQ(found.point, 0U);
  EXPECT_EQ(found.distance, 1.0);
}

TEST(KnnIndex, OfEquallyNearPointsGivesTheFirst) {
  // A grid, asked in the middle of its cells and on its points, where many are equally near; laid
  // out backwards so that the tree meets them in another order than the index.
  std::vector<double> points;
  for (int x = 19; x >= 0; --x) {
    for (int y = 19; y >= 0; --y) points.insert(points.end(), {double(x), double(y)});
  }
  for (const double x : {-1.0, 0.5, 3.0, 9.5, 18.5, 25.0}) {
    for (const double y : {-2.0, 0.5, 7.5, 12.0, 18.5}) ExpectAsBruteForce(points, 2, {x, y});
  }
}

TEST(KnnIndex, SplitsDimensionsOfVeryDifferentScale) {
  Rng rng(3);
  std::vector<double> points;
  for (int i = 0; i < 2000; ++i) {
    points.insert(points.end(), {1e5 * rng.Uniform(), 1e-3 * rng.Uniform(), rng.Normal()});
  }
  for (int k = 0; k < 50; ++k) {
    ExpectAsBruteForce(points, 3, {1e5 * rng.Uniform(), 1e-3 * rng.Uniform(), rng.Normal()});
  }
}

TEST(KnnIndex, RefusesNoPoints) { EXPECT_THROW(KnnIndex({}, 3), Error); }

}  // namespace
}  // namespace kernelx
