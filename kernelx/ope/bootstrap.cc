// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/bootstrap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// 97.5 % quantiles of Student's t with 1 .. kMinClusters - 2 degrees of freedom.
constexpr std::array<double, ClusterBootstrap::kMinClusters - 2> kStudent975 = {
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216,
    2.22814, 2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092};

/// Linear interpolation between the order statistics of `sorted`.
double Quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Clusters Clusters::Of(std::span<const uint64_t> ids) {
  std::vector<uint64_t> unique(ids.begin(), ids.end());
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  Clusters clusters;
  clusters.count = unique.size();
  clusters.of_row.reserve(ids.size());
  for (const uint64_t id : ids) {
    const auto found = std::lower_bound(unique.begin(), unique.end(), id);
    clusters.of_row.push_back(static_cast<uint32_t>(found - unique.begin()));
  }
  return clusters;
}

ClusterBootstrap::ClusterBootstrap(std::vector<double> sums, size_t columns,
                                   const BootstrapOptions& options)
    : columns_(columns),
      clusters_(sums.size() / columns),
      replicates_(clusters_ < kMinClusters ? 0 : options.replicates),
      sums_(std::move(sums)),
      totals_(columns, 0.0),
      resampled_(replicates_ * columns, 0.0) {
  for (size_t c = 0; c < clusters_; ++c) {
    for (size_t j = 0; j < columns_; ++j) totals_[j] += Sum(c, j);
  }
  ParallelFor(replicates_, options.threads, [&](size_t begin, size_t end) {
    std::vector<uint32_t> times(clusters_);
    for (size_t b = begin; b < end; ++b) {
      std::fill(times.begin(), times.end(), 0);
      Rng rng(options.seed, b);
      for (size_t c = 0; c < clusters_; ++c) ++times[rng.Below(clusters_)];
      double* out = &resampled_[b * columns_];
      for (size_t c = 0; c < clusters_; ++c) {
        if (times[c] == 0) continue;
        const double count = times[c];
        const double* in = &sums_[c * columns_];
        for (size_t j = 0; j < columns_; ++j) out[j] += count * in[j];
      }
    }
  });
}

double ClusterBootstrap::Ratio(const double* totals, RatioOfSums ratio) const {
  return totals[ratio.numerator] / totals[ratio.denominator];
}

double ClusterBootstrap::StandardError(RatioOfSums a, std::optional<RatioOfSums> b) const {
  if (clusters_ < 2) return kInfinity;
  const auto deviation = [&](size_t cluster, RatioOfSums r) {
    return (Sum(cluster, r.numerator) - Ratio(totals_.data(), r) * Sum(cluster, r.denominator)) /
           Total(r.denominator);
  };
  double squares = 0.0;
  for (size_t c = 0; c < clusters_; ++c) {
    const double d = deviation(c, a) - (b ? deviation(c, *b) : 0.0);
    squares += d * d;
  }
  const auto count = static_cast<double>(clusters_);
  return std::sqrt(squares * count / (count - 1.0));
}

Interval ClusterBootstrap::Estimate(RatioOfSums a, std::optional<RatioOfSums> b) const {
  const auto statistic = [&](const double* totals) {
    return Ratio(totals, a) - (b ? Ratio(totals, *b) : 0.0);
  };
  Interval result;
  result.value = statistic(totals_.data());
  if (clusters_ < kMinClusters) {
    const double t = clusters_ < 2 ? 1.0 : kStudent975[clusters_ - 2];
    const double half = t * StandardError(a, b);
    result.lo = result.value - half;
    result.hi = result.value + half;
    return result;
  }
  std::vector<double> values;
  values.reserve(replicates_);
  for (size_t r = 0; r < replicates_; ++r) {
    const double value = statistic(&resampled_[r * columns_]);
    if (!std::isnan(value)) values.push_back(value);
  }
  if (values.empty() || std::isnan(result.value)) {
    result.lo = result.hi = std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  std::sort(values.begin(), values.end());
  result.lo = Quantile(values, 0.025);
  result.hi = Quantile(values, 0.975);
  return result;
}

}  // namespace kernelx
