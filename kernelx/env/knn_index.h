// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Exact nearest neighbour by Euclidean distance: a k-d tree whose leaves are small blocks scanned
// with vector instructions. Distances are those of a plain loop over the dimensions, to the bit, so
// that the answer does not depend on the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kernelx {

class KnnIndex {
 public:
  struct Neighbour {
    uint32_t point = 0;  ///< index into the points given
    double distance = 0.0;
  };

  static constexpr size_t kMaxDimensions = 64;

  /// `points`: n x dimensions, row-major, finite; copied. n >= 1.
  KnnIndex(std::span<const double> points, size_t dimensions);

  /// The nearest point; of equally near ones that with the lowest index. Does not allocate.
  [[nodiscard]] Neighbour Nearest(std::span<const double> query) const;

  [[nodiscard]] size_t size() const { return order_.size(); }

 private:
  static constexpr size_t kLeaf = 16;

  /// A node splits its points at `value` along `dimension`; leaves have no children.
  struct Node {
    uint32_t begin = 0, end = 0;   ///< its points in `order_`
    uint32_t left = 0, right = 0;  ///< 0: leaf
    uint32_t dimension = 0;
    double low = 0.0, high = 0.0;  ///< greatest left and least right coordinate
  };
  struct Search;

  uint32_t Build(std::span<const double> points, uint32_t begin, uint32_t end);
  void Descend(uint32_t node, double bound, Search& search) const;
  void ScanLeaf(const Node& node, Search& search) const;

  size_t dimensions_;
  std::vector<uint32_t> order_;
  std::vector<Node> nodes_;
  /// Leaf by leaf, each padded to kLeaf points, dimension-major within the leaf.
  std::vector<double> blocks_;
  std::vector<uint32_t> block_of_node_;
};

}  // namespace kernelx
