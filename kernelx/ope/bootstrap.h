// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Intervals for ratios of sums by resampling whole clusters. Rows of one task are near-copies of
// each other: resampling rows gives intervals that cover 40 % where they claim 95 %.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kernelx {

/// A value with its 95 % interval. All three are NaN where the value is 0 / 0.
struct Interval {
  double value = 0.0;
  double lo = 0.0;
  double hi = 0.0;
};

/// The clusters of n rows, numbered by ascending id: the numbering, and all that follows from it,
/// does not depend on the order of the rows.
struct Clusters {
  std::vector<uint32_t> of_row;
  size_t count = 0;

  static Clusters Of(std::span<const uint64_t> ids);
};

struct BootstrapOptions {
  size_t replicates = 2000;
  uint64_t seed = 1;
  unsigned threads = 0;  ///< 0: one a core. Does not change the result.
};

/// sum of column `numerator` / sum of column `denominator`, over the clusters drawn.
struct RatioOfSums {
  size_t numerator = 0;
  size_t denominator = 0;
};

/// Every statistic here is a ratio of sums over clusters, or the difference of two on the same
/// resample (paired). All replicates are drawn at construction; queries are cheap and const.
class ClusterBootstrap {
 public:
  static constexpr size_t kMinClusters = 20;

  ClusterBootstrap() = default;
  /// `sums`: row-major clusters x columns, the sum of each column over the cluster's rows.
  ClusterBootstrap(std::vector<double> sums, size_t columns, const BootstrapOptions& options = {});

  /// `a`, or `a` - `b`. Percentile interval of the replicates; with fewer than `kMinClusters`
  /// clusters the t interval with clusters - 1 degrees of freedom (infinite for one cluster).
  [[nodiscard]] Interval Estimate(RatioOfSums a, std::optional<RatioOfSums> b = {}) const;

  /// Cluster-robust standard error of the same statistic by linearisation; infinite for one
  /// cluster.
  [[nodiscard]] double StandardError(RatioOfSums a, std::optional<RatioOfSums> b = {}) const;

  [[nodiscard]] size_t clusters() const { return clusters_; }
  /// The sum of a column over all clusters.
  [[nodiscard]] double Total(size_t column) const { return totals_[column]; }
  [[nodiscard]] double Sum(size_t cluster, size_t column) const {
    return sums_[cluster * columns_ + column];
  }

 private:
  [[nodiscard]] double Ratio(const double* totals, RatioOfSums ratio) const;

  size_t columns_ = 0;
  size_t clusters_ = 0;
  size_t replicates_ = 0;
  std::vector<double> sums_;
  std::vector<double> totals_;
  std::vector<double> resampled_;  // replicates x columns
};

}  // namespace kernelx
