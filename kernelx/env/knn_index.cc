// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/knn_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernelx/ground/error.h"

namespace kernelx {

struct KnnIndex::Search {
  const double* query = nullptr;
  double best = std::numeric_limits<double>::infinity();  // squared
  uint32_t point = std::numeric_limits<uint32_t>::max();
  /// Squared distance of the query to the current cell, a dimension each.
  std::array<double, kMaxDimensions> offset{};
};

KnnIndex::KnnIndex(std::span<const double> points, size_t dimensions)
    : dimensions_(dimensions), order_(points.size() / dimensions) {
  if (dimensions > kMaxDimensions || order_.empty()) {
    throw Error(ErrorCode::kBadInput, "nearest neighbours: no row to search, or over 64 features");
  }
  std::iota(order_.begin(), order_.end(), 0U);
  nodes_.reserve(4 * order_.size() / kLeaf + 2);
  Build(points, 0, static_cast<uint32_t>(order_.size()));
  block_of_node_.assign(nodes_.size(), 0);
  uint32_t blocks = 0;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].left == 0) block_of_node_[n] = blocks++;
  }
  blocks_.assign(size_t{blocks} * kLeaf * dimensions_, std::numeric_limits<double>::infinity());
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].left != 0) continue;
    double* block = blocks_.data() + size_t{block_of_node_[n]} * kLeaf * dimensions_;
    std::sort(order_.begin() + nodes_[n].begin, order_.begin() + nodes_[n].end);
    for (uint32_t i = nodes_[n].begin; i < nodes_[n].end; ++i) {
      for (size_t d = 0; d < dimensions_; ++d) {
        block[d * kLeaf + (i - nodes_[n].begin)] = points[size_t{order_[i]} * dimensions_ + d];
      }
    }
  }
}

uint32_t KnnIndex::Build(std::span<const double> points, uint32_t begin, uint32_t end) {
  const auto at = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.begin = begin, .end = end});
  if (end - begin <= kLeaf) return at;
  const auto coordinate = [&](uint32_t point, size_t d) {
    return points[size_t{point} * dimensions_ + d];
  };
  // Split the widest dimension at its median.
  size_t widest = 0;
  double width = -1.0;
  for (size_t d = 0; d < dimensions_; ++d) {
    double low = coordinate(order_[begin], d);
    double high = low;
    for (uint32_t i = begin + 1; i < end; ++i) {
      low = std::min(low, coordinate(order_[i], d));
      high = std::max(high, coordinate(order_[i], d));
    }
    if (high - low > width) width = high - low, widest = d;
  }
  const uint32_t middle = begin + (end - begin) / 2;
  std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end,
                   [&](uint32_t a, uint32_t b) {
                     const double x = coordinate(a, widest);
                     const double y = coordinate(b, widest);
                     return x < y || (x == y && a < b);
                   });
  Node node = nodes_[at];
  node.dimension = static_cast<uint32_t>(widest);
  node.high = coordinate(order_[middle], widest);
  node.low = node.high;
  if (middle > begin) {
    node.low = coordinate(order_[begin], widest);
    for (uint32_t i = begin; i < middle; ++i) {
      node.low = std::max(node.low, coordinate(order_[i], widest));
    }
  }
  node.left = Build(points, begin, middle);
  node.right = Build(points, middle, end);
  nodes_[at] = node;
  return at;
}

void KnnIndex::ScanLeaf(const Node& node, Search& search) const {
  const size_t index = static_cast<size_t>(&node - nodes_.data());
  const double* block = blocks_.data() + size_t{block_of_node_[index]} * kLeaf * dimensions_;
  double squared[kLeaf] = {};
  for (size_t d = 0; d < dimensions_; ++d) {
    const double q = search.query[d];
    for (size_t i = 0; i < kLeaf; ++i) {
      const double difference = block[d * kLeaf + i] - q;
      squared[i] += difference * difference;
    }
  }
  for (size_t i = 0; i < node.end - node.begin; ++i) {
    if (squared[i] > search.best) continue;
    const uint32_t point = order_[node.begin + i];
    if (squared[i] < search.best || point < search.point) {
      search.best = squared[i];
      search.point = point;
    }
  }
}

void KnnIndex::Descend(uint32_t at, double bound, Search& search) const {
  const Node& node = nodes_[at];
  if (node.left == 0) {
    ScanLeaf(node, search);
    return;
  }
  const double q = search.query[node.dimension];
  const double to_low = q - node.low;    // > 0: right of all points on the left
  const double to_high = node.high - q;  // > 0: left of all points on the right
  const bool left_first = to_low < to_high;
  const uint32_t near = left_first ? node.left : node.right;
  const uint32_t far = left_first ? node.right : node.left;
  Descend(near, bound, search);
  const double gap = std::max(left_first ? to_high : to_low, 0.0);
  const double old = search.offset[node.dimension];
  const double offset = std::max(old, gap * gap);
  // A hair of slack: the bound is summed in another order than the distances are.
  const double far_bound = bound - old + offset;
  if (far_bound * (1.0 - 1e-12) <= search.best) {
    search.offset[node.dimension] = offset;
    Descend(far, far_bound, search);
    search.offset[node.dimension] = old;
  }
}

KnnIndex::Neighbour KnnIndex::Nearest(std::span<const double> query) const {
  Search search;
  search.query = query.data();
  Descend(0, 0.0, search);
  return {search.point, std::sqrt(search.best)};
}

}  // namespace kernelx
