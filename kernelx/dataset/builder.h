// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernelx/dataset/columns.h"
#include "kernelx/dataset/dataset.h"

namespace kernelx {

/// A union of `Column` bits.
template <typename... C>
constexpr uint32_t ColumnBits(C... columns) {
  return (0U | ... | static_cast<uint32_t>(columns));
}

/// Makes a `Dataset` in memory, row by row or from parts, without a file.
///
///   DatasetBuilder builder(SeedFeatureNames(), ColumnBits(Column::kDelta));
///   for (const Row& row : rows) builder.Append(row);
///   Dataset dataset = std::move(builder).Build();
class DatasetBuilder {
 public:
  /// `columns`: which optional columns the rows appended one by one carry, a union of `Column`
  /// bits. The others stay empty, except `delta`: recovered when the first ten features are the
  /// seed's.
  explicit DatasetBuilder(std::vector<std::string> feature_names, uint32_t columns = 0);

  /// Provenance, see the getters of `Dataset`.
  void set_sidecar(std::string text) { sidecar_ = std::move(text); }
  void set_source(std::string source) { source_ = std::move(source); }
  void set_digest(std::string digest) { digest_ = std::move(digest); }

  /// Throws kUsage when the row has another number of features or a value that is not finite.
  void Append(const Row& row);
  /// Appends all rows of a dataset with as many features (else throws kUsage). The whole then has
  /// next_timestamp, start and exact deltas when every part has them; behavior, applied and comm
  /// when one has (rows of the others say `known` = false, or an empty name).
  void Append(const Dataset& other);
  void Append(const Columns& columns);

  [[nodiscard]] size_t size() const { return columns_ == nullptr ? 0 : columns_->rows(); }
  [[nodiscard]] const Columns& columns() const { return *columns_; }
  /// Hands the rows over without copying them. Throws kUsage when called twice.
  Dataset Build() &&;

 private:
  std::unique_ptr<Columns> columns_;
  std::vector<std::string> feature_names_;
  uint32_t carried_;
  bool recovers_delta_;
  std::string sidecar_;
  std::string source_;
  std::string digest_;
};

/// Whether the first ten names are the seed's, so that `RecoverDelta` applies.
bool CanRecoverDelta(const std::vector<std::string>& feature_names);

/// Differences from features that begin with the seed's ten: exec and vruntime through inverse
/// symlog, waits as they are; switches and sleep stay 0. Exact while the counters are below about
/// 10^13 ns. As with exact deltas, `exec_ns` of a counter that ran backwards is negative when cast
/// to int64.
Delta RecoverDelta(const double* state, const double* next_state);

/// Row `i` of a dataset by value.
Row RowAt(const Dataset& dataset, size_t i);

}  // namespace kernelx
