// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/columns.h"

#include <bit>

namespace kernelx {
namespace {

bool Carries(uint32_t present, Column column) {
  return (present & static_cast<uint32_t>(column)) != 0;
}

/// Keeps an optional column either empty or as long as the rows before it, then appends `value`.
template <typename T>
void AppendOptional(GrowingArray<T>& column, size_t rows_before, bool carried, const T& value,
                    const T& absent = T{}) {
  if (!carried && column.empty()) return;
  column.FillTo(rows_before, absent);
  column.Append(carried ? value : absent);
}

template <typename T>
void AppendOptional(GrowingArray<T>& column, size_t rows_before, size_t rows,
                    std::span<const T> values, const T& absent = T{}) {
  if (values.empty() && column.empty()) return;
  column.FillTo(rows_before, absent);
  column.Append(values);
  column.FillTo(rows_before + rows, absent);
}

}  // namespace

size_t Columns::CountIndex(Column column) {
  return static_cast<size_t>(std::countr_zero(static_cast<uint32_t>(column)));
}

void Columns::Append(const RowView& row) {
  const size_t before = rows_;
  states_.Append(std::span<const double>(row.state, feature_count_));
  next_states_.Append(std::span<const double>(row.next_state, feature_count_));
  action_.Append(row.action);
  reward_.Append(row.reward);
  pid_.Append(row.pid);
  cpu_.Append(row.cpu);
  timestamp_ns_.Append(row.timestamp_ns);
  const uint32_t present = row.present;
  AppendOptional(next_timestamp_ns_, before, Carries(present, Column::kNextTimestamp),
                 row.next_timestamp_ns);
  AppendOptional(start_ns_, before, Carries(present, Column::kStart), row.start_ns);
  AppendOptional(delta_, before, row.has_delta, row.delta);
  AppendOptional(behavior_, before, Carries(present, Column::kBehavior), row.behavior);
  AppendOptional(applied_, before, Carries(present, Column::kApplied), row.applied);
  if (Carries(present, Column::kComm)) {
    if (comm_.empty() && before > 0) comm_.FillTo(before, CommIndex(""));
    comm_.Append(CommIndex(row.comm));
  } else if (!comm_.empty()) {
    comm_.Append(CommIndex(""));
  }
  for (size_t bit = 0; bit < std::size(counts_); ++bit) counts_[bit] += (present >> bit) & 1U;
  delta_values_ += row.has_delta ? 1 : 0;
  ++rows_;
}

void Columns::Append(const Columns& other) {
  AppendPart(other.Spans(), other.comm_names_);
  for (size_t bit = 0; bit < std::size(counts_); ++bit) counts_[bit] += other.counts_[bit];
  delta_values_ += other.delta_values_;
}

void Columns::Append(const Dataset& other) {
  AppendPart({.rows = other.size(),
              .states = other.states(),
              .next_states = other.next_states(),
              .action = other.action(),
              .reward = other.reward(),
              .pid = other.pid(),
              .cpu = other.cpu(),
              .timestamp_ns = other.timestamp_ns(),
              .next_timestamp_ns = other.next_timestamp_ns(),
              .start_ns = other.start_ns(),
              .delta = other.delta(),
              .behavior = other.behavior(),
              .applied = other.applied(),
              .comm = other.comm()},
             other.comm_names());
  for (const Column column : {Column::kNextTimestamp, Column::kDelta, Column::kBehavior,
                              Column::kApplied, Column::kComm, Column::kStart}) {
    if (other.has(column)) counts_[CountIndex(column)] += other.size();
  }
  delta_values_ += other.delta().size();
}

void Columns::AppendPart(const ColumnSpans& part, const std::vector<std::string>& comm_names) {
  const size_t before = rows_;
  const size_t rows = part.rows;
  states_.Append(part.states);
  next_states_.Append(part.next_states);
  action_.Append(part.action);
  reward_.Append(part.reward);
  pid_.Append(part.pid);
  cpu_.Append(part.cpu);
  timestamp_ns_.Append(part.timestamp_ns);
  AppendOptional(next_timestamp_ns_, before, rows, part.next_timestamp_ns);
  AppendOptional(start_ns_, before, rows, part.start_ns);
  AppendOptional(delta_, before, rows, part.delta);
  AppendOptional(behavior_, before, rows, part.behavior);
  AppendOptional(applied_, before, rows, part.applied);
  if (!part.comm.empty() || !comm_.empty()) {
    if (comm_.size() < before) comm_.FillTo(before, CommIndex(""));
    std::vector<uint32_t> index;
    index.reserve(comm_names.size());
    for (const auto& name : comm_names) index.push_back(CommIndex(name));
    uint32_t* added = comm_.Extend(part.comm.size());
    for (size_t i = 0; i < part.comm.size(); ++i) added[i] = index[part.comm[i]];
    if (part.comm.empty() && rows > 0) comm_.FillTo(before + rows, CommIndex(""));
  }
  rows_ += rows;
}

uint32_t Columns::CommIndex(std::string_view name) {
  const auto found = comm_index_.find(name);
  if (found != comm_index_.end()) return found->second;
  const auto index = static_cast<uint32_t>(comm_names_.size());
  comm_names_.emplace_back(name);
  comm_index_.emplace(comm_names_.back(), index);
  return index;
}

ColumnSpans Columns::Spans() const {
  return {.rows = rows_,
          .states = states_.span(),
          .next_states = next_states_.span(),
          .action = action_.span(),
          .reward = reward_.span(),
          .pid = pid_.span(),
          .cpu = cpu_.span(),
          .timestamp_ns = timestamp_ns_.span(),
          .next_timestamp_ns = next_timestamp_ns_.span(),
          .start_ns = start_ns_.span(),
          .delta = delta_.span(),
          .behavior = behavior_.span(),
          .applied = applied_.span(),
          .comm = comm_.span()};
}

uint32_t Columns::Present() const {
  uint32_t present = 0;
  for (const Column column : {Column::kNextTimestamp, Column::kDelta, Column::kStart}) {
    if (rows_ > 0 && Count(column) == rows_) present |= static_cast<uint32_t>(column);
  }
  for (const Column column : {Column::kBehavior, Column::kApplied, Column::kComm}) {
    if (Count(column) > 0) present |= static_cast<uint32_t>(column);
  }
  return present;
}

void Columns::Clear() {
  rows_ = 0;
  delta_values_ = 0;
  std::fill(std::begin(counts_), std::end(counts_), 0);
  for (auto* column : {&states_, &next_states_, &action_, &reward_}) column->Clear();
  for (auto* column : {&pid_, &cpu_}) column->Clear();
  for (auto* column : {&timestamp_ns_, &next_timestamp_ns_, &start_ns_}) column->Clear();
  delta_.Clear();
  behavior_.Clear();
  applied_.Clear();
  comm_.Clear();
  comm_names_.clear();
  comm_index_.clear();
}

void Columns::ShrinkToFit() {
  for (auto* column : {&states_, &next_states_, &action_, &reward_}) column->ShrinkToFit();
  for (auto* column : {&pid_, &cpu_}) column->ShrinkToFit();
  for (auto* column : {&timestamp_ns_, &next_timestamp_ns_, &start_ns_}) column->ShrinkToFit();
  delta_.ShrinkToFit();
  behavior_.ShrinkToFit();
  applied_.ShrinkToFit();
  comm_.ShrinkToFit();
}

}  // namespace kernelx
