// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Growing columns: what the parsers fill and a `Dataset` finally points into.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "kernelx/dataset/dataset.h"

namespace kernelx {

/// A growing array of plain values. It grows by `realloc`, which moves large blocks by remapping
/// pages: unlike a vector it never holds the old and the new copy at once.
template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  ~GrowingArray() { std::free(data_); }
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::span<const T> span() const { return {data_, size_}; }

  /// `n` more values, whose content is for the caller to set.
  T* Extend(size_t n) {
    if (size_ + n > capacity_) Reallocate(std::max(size_ + n, capacity_ + capacity_ / 2));
    T* added = data_ + size_;
    size_ += n;
    return added;
  }
  void Append(const T& value) { *Extend(1) = value; }
  void Append(std::span<const T> values) {
    if (!values.empty()) std::memcpy(Extend(values.size()), values.data(), values.size_bytes());
  }
  /// Appends `value` until there are `size` values.
  void FillTo(size_t size, const T& value) {
    if (size <= size_) return;
    const size_t missing = size - size_;
    std::fill_n(Extend(missing), missing, value);
  }
  /// Forgets the values, keeps the memory.
  void Clear() { size_ = 0; }
  void ShrinkToFit() {
    if (size_ > 0 && size_ < capacity_) Reallocate(size_);
  }

 private:
  void Reallocate(size_t capacity) {
    void* moved = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

/// One row to append, borrowed.
struct RowView {
  const double* state = nullptr;
  const double* next_state = nullptr;
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
  std::string_view comm;
  uint32_t present = 0;    ///< `Column` bits of what the row carries
  bool has_delta = false;  ///< `delta` holds a value, exact or recovered
};

/// Borrowed columns: a part to append. A column that is absent is empty.
struct ColumnSpans {
  size_t rows = 0;
  std::span<const double> states, next_states, action, reward;
  std::span<const int32_t> pid, cpu;
  std::span<const uint64_t> timestamp_ns, next_timestamp_ns, start_ns;
  std::span<const Delta> delta;
  std::span<const Behavior> behavior;
  std::span<const Applied> applied;
  std::span<const uint32_t> comm;
};

/// The columns of rows seen so far. An optional column is empty until a row carries it; rows
/// without it then hold its default value.
class Columns {
 public:
  explicit Columns(size_t feature_count) : feature_count_(feature_count) {}

  void Append(const RowView& row);
  void Append(const Columns& other);
  void Append(const Dataset& other);

  [[nodiscard]] size_t rows() const { return rows_; }
  [[nodiscard]] size_t feature_count() const { return feature_count_; }
  [[nodiscard]] const std::vector<std::string>& comm_names() const { return comm_names_; }
  /// How many rows carry an optional column.
  [[nodiscard]] size_t Count(Column column) const { return counts_[CountIndex(column)]; }
  [[nodiscard]] size_t delta_count() const { return delta_values_; }
  [[nodiscard]] ColumnSpans Spans() const;
  /// `Column` bits: next_timestamp, delta and start when every row carries them, the rest when one
  /// does.
  [[nodiscard]] uint32_t Present() const;

  /// Forgets the rows, keeps the memory.
  void Clear();
  void ShrinkToFit();

 private:
  static size_t CountIndex(Column column);
  void AppendPart(const ColumnSpans& part, const std::vector<std::string>& comm_names);
  uint32_t CommIndex(std::string_view name);

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  size_t feature_count_;
  size_t rows_ = 0;
  size_t counts_[6] = {};
  size_t delta_values_ = 0;
  GrowingArray<double> states_, next_states_, action_, reward_;
  GrowingArray<int32_t> pid_, cpu_;
  GrowingArray<uint64_t> timestamp_ns_, next_timestamp_ns_, start_ns_;
  GrowingArray<Delta> delta_;
  GrowingArray<Behavior> behavior_;
  GrowingArray<Applied> applied_;
  GrowingArray<uint32_t> comm_;
  std::vector<std::string> comm_names_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> comm_index_;
};

}  // namespace kernelx
