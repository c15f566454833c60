// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The processed dataset in memory: columns over rows, read-only once built, shared by every
// environment. It neither knows what a feature means nor computes one (that is `preprocess`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/dataset/transition.h"

namespace kernelx {

/// Exact integer differences of a row, from `state` to `next_state`.
struct Delta {
  uint64_t exec_ns = 0;       ///< CPU time used
  int64_t vruntime_ns = 0;    ///< wrap-aware
  uint64_t wait_us = 0;       ///< wait before `state`
  uint64_t next_wait_us = 0;  ///< wait before `next_state`: what the action can move
  uint32_t voluntary = 0;     ///< voluntary switches between
  uint32_t involuntary = 0;
  uint64_t sleep_us = 0;  ///< sleep before `next_state`

  friend bool operator==(const Delta&, const Delta&) = default;
};

/// Column of the feature `name` among `names`, or -1.
inline int FindColumn(std::span<const std::string> names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

/// Which optional columns a file carried. What is missing is named, never invented.
enum class Column : uint32_t {
  kNextTimestamp = 1U << 0,
  kDelta = 1U << 1,     ///< exact; otherwise recovered through inverse symlog
  kBehavior = 1U << 2,  ///< propensities
  kApplied = 1U << 3,
  kComm = 1U << 4,
  kStart = 1U << 5,  ///< start time of the task: part of its identity
};

/// One processed row by value: what a writer takes and a reader yields.
struct Row {
  std::vector<double> state;
  std::vector<double> next_state;
  double action = 0.0;
  double reward = 0.0;
  int32_t pid = 0;
  int32_t cpu = 0;
  uint64_t timestamp_ns = 0;
  uint64_t next_timestamp_ns = 0;
  uint64_t start_ns = 0;
  Delta delta;
  Behavior behavior;
  Applied applied;
  std::string comm;
};

/// Rows as columns. Cheap to copy: copies share the storage, which is a heap block or a mapped
/// cache file. All members are safe to call from any thread.
class Dataset {
 public:
  Dataset() = default;

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t feature_count() const { return feature_count_; }
  /// Feature names in column order: from the sidecar, else the seed's ten.
  [[nodiscard]] const std::vector<std::string>& feature_names() const { return feature_names_; }
  /// The sidecar `features.json` as text; empty when the file had none.
  [[nodiscard]] const std::string& sidecar() const { return sidecar_; }
  /// Path(s) the rows came from, for messages and provenance.
  [[nodiscard]] const std::string& source() const { return source_; }
  /// XXH3-64 of the source bytes as hex, for provenance.
  [[nodiscard]] const std::string& digest() const { return digest_; }

  [[nodiscard]] bool has(Column column) const {
    return (columns_ & static_cast<uint32_t>(column)) != 0;
  }

  /// Features of row `i`, `feature_count()` doubles.
  [[nodiscard]] std::span<const double> state(size_t i) const {
    return {states_.data() + i * feature_count_, feature_count_};
  }
  [[nodiscard]] std::span<const double> next_state(size_t i) const {
    return {next_states_.data() + i * feature_count_, feature_count_};
  }
  /// All states, row-major size() x feature_count().
  [[nodiscard]] std::span<const double> states() const { return states_; }
  [[nodiscard]] std::span<const double> next_states() const { return next_states_; }

  [[nodiscard]] std::span<const double> action() const { return action_; }
  [[nodiscard]] std::span<const double> reward() const { return reward_; }
  [[nodiscard]] std::span<const int32_t> pid() const { return pid_; }
  [[nodiscard]] std::span<const int32_t> cpu() const { return cpu_; }
  [[nodiscard]] std::span<const uint64_t> timestamp_ns() const { return timestamp_ns_; }
  /// The optional columns are empty spans when `has` says no, except `delta`, which is then
  /// recovered from the features.
  [[nodiscard]] std::span<const uint64_t> next_timestamp_ns() const { return next_timestamp_ns_; }
  [[nodiscard]] std::span<const uint64_t> start_ns() const { return start_ns_; }
  [[nodiscard]] std::span<const Delta> delta() const { return delta_; }
  [[nodiscard]] std::span<const Behavior> behavior() const { return behavior_; }
  [[nodiscard]] std::span<const Applied> applied() const { return applied_; }
  /// Index into `comm_names()`.
  [[nodiscard]] std::span<const uint32_t> comm() const { return comm_; }
  [[nodiscard]] const std::vector<std::string>& comm_names() const { return comm_names_; }

 private:
  friend class DatasetBuilder;
  friend class DatasetCache;

  size_t size_ = 0;
  size_t feature_count_ = 0;
  uint32_t columns_ = 0;
  std::vector<std::string> feature_names_;
  std::vector<std::string> comm_names_;
  std::string sidecar_;
  std::string source_;
  std::string digest_;
  std::shared_ptr<const void> storage_;  // what the spans below point into
  std::span<const double> states_, next_states_, action_, reward_;
  std::span<const int32_t> pid_, cpu_;
  std::span<const uint64_t> timestamp_ns_, next_timestamp_ns_, start_ns_;
  std::span<const Delta> delta_;
  std::span<const Behavior> behavior_;
  std::span<const Applied> applied_;
  std::span<const uint32_t> comm_;
};

}  // namespace kernelx
