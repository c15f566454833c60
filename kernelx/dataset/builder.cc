// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/builder.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "kernelx/dataset/reader.h"
#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr size_t kSeedExec = 4;
constexpr size_t kSeedVruntime = 5;
constexpr size_t kSeedWait = 9;

/// The counter whose symlog is `value`, as unsigned 64 bits.
uint64_t InverseSymlog(double value) {
  const double magnitude = std::nearbyint(std::expm1(std::abs(value)));
  const uint64_t counter = magnitude >= 0x1p64 ? ~uint64_t{0} : static_cast<uint64_t>(magnitude);
  return value < 0 ? uint64_t{0} - counter : counter;
}

uint64_t WholeMicroseconds(double value) {
  if (!(value > 0)) return 0;
  return value >= 0x1p64 ? ~uint64_t{0} : static_cast<uint64_t>(std::nearbyint(value));
}

bool StartsWithSeedFeatures(const std::vector<std::string>& names) {
  const auto& seed = SeedFeatureNames();
  return names.size() >= seed.size() && std::equal(seed.begin(), seed.end(), names.begin());
}

void CheckFinite(double value, std::string_view what) {
  if (std::isfinite(value)) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("DatasetBuilder: {} is {}; only finite values are rows", what, value));
}

}  // namespace

Delta RecoverDelta(const double* state, const double* next_state) {
  Delta delta;
  delta.exec_ns = InverseSymlog(next_state[kSeedExec]) - InverseSymlog(state[kSeedExec]);
  delta.vruntime_ns = static_cast<int64_t>(InverseSymlog(next_state[kSeedVruntime]) -
                                           InverseSymlog(state[kSeedVruntime]));
  delta.wait_us = WholeMicroseconds(state[kSeedWait]);
  delta.next_wait_us = WholeMicroseconds(next_state[kSeedWait]);
  return delta;
}

bool CanRecoverDelta(const std::vector<std::string>& feature_names) {
  return StartsWithSeedFeatures(feature_names);
}

DatasetBuilder::DatasetBuilder(std::vector<std::string> feature_names, uint32_t columns)
    : columns_(std::make_unique<Columns>(feature_names.size())),
      feature_names_(std::move(feature_names)),
      carried_(columns),
      recovers_delta_(CanRecoverDelta(feature_names_)) {}

void DatasetBuilder::Append(const Row& row) {
  if (row.state.size() != feature_names_.size() || row.next_state.size() != feature_names_.size()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("DatasetBuilder: a row has {} and {} features; this dataset has {}",
                            row.state.size(), row.next_state.size(), feature_names_.size()));
  }
  for (const double value : row.state) CheckFinite(value, "a feature of the state");
  for (const double value : row.next_state) CheckFinite(value, "a feature of the next state");
  CheckFinite(row.action, "the action");
  CheckFinite(row.reward, "the reward");
  const bool exact = (carried_ & ColumnBits(Column::kDelta)) != 0;
  columns_->Append(RowView{
      .state = row.state.data(),
      .next_state = row.next_state.data(),
      .action = row.action,
      .reward = row.reward,
      .pid = row.pid,
      .cpu = row.cpu,
      .timestamp_ns = row.timestamp_ns,
      .next_timestamp_ns = row.next_timestamp_ns,
      .start_ns = row.start_ns,
      .delta = exact             ? row.delta
               : recovers_delta_ ? RecoverDelta(row.state.data(), row.next_state.data())
                                 : Delta{},
      .behavior = row.behavior,
      .applied = row.applied,
      .comm = row.comm,
      .present = carried_,
      .has_delta = exact || recovers_delta_,
  });
}

void DatasetBuilder::Append(const Dataset& other) {
  if (other.feature_count() != feature_names_.size()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}: has {} features, the rows before it {}; join datasets of one kind",
                            other.source(), other.feature_count(), feature_names_.size()));
  }
  columns_->Append(other);
}

void DatasetBuilder::Append(const Columns& columns) { columns_->Append(columns); }

Dataset DatasetBuilder::Build() && {
  if (columns_ == nullptr) {
    throw Error(ErrorCode::kUsage, "DatasetBuilder: Build was called before; make a new builder");
  }
  columns_->ShrinkToFit();
  const ColumnSpans spans = columns_->Spans();
  Dataset dataset;
  dataset.size_ = spans.rows;
  dataset.feature_count_ = feature_names_.size();
  dataset.columns_ = columns_->Present();
  dataset.feature_names_ = std::move(feature_names_);
  dataset.comm_names_ = columns_->comm_names();
  dataset.sidecar_ = std::move(sidecar_);
  dataset.source_ = std::move(source_);
  dataset.digest_ = std::move(digest_);
  dataset.states_ = spans.states;
  dataset.next_states_ = spans.next_states;
  dataset.action_ = spans.action;
  dataset.reward_ = spans.reward;
  dataset.pid_ = spans.pid;
  dataset.cpu_ = spans.cpu;
  dataset.timestamp_ns_ = spans.timestamp_ns;
  if (dataset.has(Column::kNextTimestamp)) dataset.next_timestamp_ns_ = spans.next_timestamp_ns;
  if (dataset.has(Column::kStart)) dataset.start_ns_ = spans.start_ns;
  if (columns_->delta_count() == spans.rows) dataset.delta_ = spans.delta;
  dataset.behavior_ = spans.behavior;
  dataset.applied_ = spans.applied;
  dataset.comm_ = spans.comm;
  dataset.storage_ = std::shared_ptr<const Columns>(std::move(columns_));
  return dataset;
}

Row RowAt(const Dataset& dataset, size_t i) {
  Row row;
  row.state.assign(dataset.state(i).begin(), dataset.state(i).end());
  row.next_state.assign(dataset.next_state(i).begin(), dataset.next_state(i).end());
  row.action = dataset.action()[i];
  row.reward = dataset.reward()[i];
  row.pid = dataset.pid()[i];
  row.cpu = dataset.cpu()[i];
  row.timestamp_ns = dataset.timestamp_ns()[i];
  if (!dataset.next_timestamp_ns().empty()) row.next_timestamp_ns = dataset.next_timestamp_ns()[i];
  if (!dataset.start_ns().empty()) row.start_ns = dataset.start_ns()[i];
  if (!dataset.delta().empty()) row.delta = dataset.delta()[i];
  if (!dataset.behavior().empty()) row.behavior = dataset.behavior()[i];
  if (!dataset.applied().empty()) row.applied = dataset.applied()[i];
  if (!dataset.comm().empty()) row.comm = dataset.comm_names()[dataset.comm()[i]];
  return row;
}

const std::vector<std::string>& SeedFeatureNames() {
  static const std::vector<std::string> names = {"cpu", "prio", "sprio", "nprio", "exec_ns",
                                                 "vrt", "migr", "cpus",  "csw",   "wt_us"};
  return names;
}

}  // namespace kernelx
