// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace kernelx {

/// Counts of non-negative whole numbers in buckets of at most 1/32 (3.1 %) of their value; numbers
/// below 64 are exact. Histograms add up exactly. Trivially copyable: lives in shared memory too.
class Histogram {
 public:
  static constexpr int kSubBits = 5;
  static constexpr size_t kBuckets = (size_t{40 - kSubBits} << kSubBits) + (1 << kSubBits);

  void Add(uint64_t value, uint64_t count = 1) {
    counts_[BucketOf(value)] += count;
    total_ += count;
  }
  void Add(const Histogram& other) {
    for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
  }

  /// What was added to this since it was `earlier`.
  [[nodiscard]] Histogram Since(const Histogram& earlier) const {
    Histogram since;
    for (size_t i = 0; i < kBuckets; ++i) {
      since.counts_[i] = counts_[i] - earlier.counts_[i];
      since.total_ += since.counts_[i];
    }
    return since;
  }
  void AddToBucket(size_t bucket, uint64_t count) {
    counts_[std::min(bucket, kBuckets - 1)] += count;
    total_ += count;
  }

  [[nodiscard]] uint64_t total() const { return total_; }
  [[nodiscard]] uint64_t count(size_t bucket) const { return counts_[bucket]; }

  /// The value below which a share `q` of all lies: middle of the bucket of rank ceil(q n). 0 when
  /// empty.
  [[nodiscard]] double Quantile(double q) const {
    if (total_ == 0) return 0.0;
    const auto rank = std::max<uint64_t>(
        1, static_cast<uint64_t>(std::ceil(q * static_cast<double>(total_) - 1e-9)));
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen >= rank) return Middle(i);
    }
    return Middle(kBuckets - 1);
  }

  static size_t BucketOf(uint64_t value) {
    if (value < (2U << kSubBits)) return value;
    const int shift = std::bit_width(value) - 1 - kSubBits;
    const size_t bucket = (static_cast<size_t>(shift) << kSubBits) + (value >> shift);
    return std::min(bucket, kBuckets - 1);
  }
  static double Middle(size_t bucket) {
    if (bucket < (2U << kSubBits)) return static_cast<double>(bucket);
    const size_t shift = (bucket >> kSubBits) - 1;
    const uint64_t low = (uint64_t{1 << kSubBits} + (bucket & ((1 << kSubBits) - 1))) << shift;
    return static_cast<double>(low) + 0.5 * static_cast<double>((uint64_t{1} << shift) - 1);
  }

 private:
  std::array<uint64_t, kBuckets> counts_{};
  uint64_t total_ = 0;
};

}  // namespace kernelx
