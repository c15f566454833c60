// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/nearest_dynamics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"
#include "kernelx/preprocess/feature_set.h"

namespace kernelx {
namespace {

constexpr size_t kBlock = 64;  // rows a vector loop handles at once
constexpr size_t kMostFeatures = 256;
constexpr float kFar = 1e30F;

/// Weight of each column: from the sidecar, or for the seed's features 1 for what moves and is not
/// the knob itself.
std::vector<double> MetricWeights(const Dataset& data) {
  std::vector<double> weights;
  if (!data.sidecar().empty()) {
    const FeatureSet set = FeatureSet::FromJson(data.sidecar(), "features.json");
    for (const Feature& feature : set.features()) weights.push_back(feature.metric_weight);
    if (weights.size() != data.feature_count()) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("{}: features.json describes {} features, but a state has {}; "
                              "preprocess the recording again",
                              data.source(), weights.size(), data.feature_count()));
    }
  }
  if (std::ranges::all_of(weights, [](double w) { return w == 0.0; })) {
    weights.assign(data.feature_count(), 1.0);
    for (size_t i = 0; i < data.feature_names().size(); ++i) {
      const std::string& name = data.feature_names()[i];
      if (name == "prio" || name == "sprio" || name == "nprio") weights[i] = 0.0;
    }
  }
  return weights;
}

}  // namespace

/// Buffers of one thread. They grow to the size of the dataset once; no step allocates.
struct NearestDynamics::Scratch {
  std::vector<float> state_distance;  // squared, stride
  std::vector<float> distance;        // squared, with the action's part, stride
  std::vector<std::pair<float, uint32_t>> candidates;
  std::vector<float> minima;
  size_t found = 0;

  static Scratch& OfThread(size_t stride) {
    thread_local Scratch scratch;
    if (scratch.distance.size() < stride) {
      scratch.state_distance.resize(stride);
      scratch.distance.resize(stride);
      scratch.candidates.reserve(stride);
      scratch.minima.reserve(stride / kBlock + 1);
    }
    return scratch;
  }
};

NearestDynamics::NearestDynamics(const DynamicsInputs& inputs)
    : dataset_(inputs.dataset),
      table_(DecisionTable::Of(inputs)),
      rows_(RandomisedRows(inputs.dataset)) {
  if (rows_.empty()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: no row has an action that was drawn at random and in force, so "
                            "nothing tells what an action does; record with --explore",
                            dataset_.source()));
  }
  stride_ = (rows_.size() + kBlock - 1) / kBlock * kBlock;
  const std::vector<double> weights = MetricWeights(dataset_);
  if (weights.size() > kMostFeatures) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: {} features; dynamics nearest takes at most {}", dataset_.source(),
                            weights.size(), kMostFeatures));
  }
  for (size_t column = 0; column < weights.size(); ++column) {
    if (weights[column] == 0.0) continue;
    double mean = 0.0;
    for (const uint32_t row : rows_) mean += dataset_.state(row)[column];
    mean /= static_cast<double>(rows_.size());
    double variance = 0.0;
    for (const uint32_t row : rows_) {
      const double difference = dataset_.state(row)[column] - mean;
      variance += difference * difference;
    }
    const double sd = std::sqrt(variance / static_cast<double>(rows_.size()));
    if (sd < 1e-9) continue;  // a constant tells nothing apart
    columns_.push_back(column);
    mean_.push_back(mean);
    scale_.push_back(weights[column] / sd);
  }
  coordinates_.assign(columns_.size() * stride_, kFar);
  action_.assign(stride_, 0.0F);
  for (size_t i = 0; i < rows_.size(); ++i) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      coordinates_[c * stride_ + i] =
          static_cast<float>((dataset_.state(rows_[i])[columns_[c]] - mean_[c]) * scale_[c]);
    }
    const double action =
        inputs.actions.empty() ? dataset_.action()[rows_[i]] : inputs.actions[rows_[i]];
    action_[i] = static_cast<float>(std::clamp(action, -1.0, 1.0));
  }
  if (columns_.empty()) {  // all states alike: the padding must still lie far away
    columns_.push_back(0);
    mean_.push_back(0.0);
    scale_.push_back(0.0);
    coordinates_.assign(stride_, kFar);
    std::fill_n(coordinates_.begin(), rows_.size(), 0.0F);
  }
}

void NearestDynamics::StateDistances(const double* state, Scratch& scratch) const {
  float query[kMostFeatures];
  for (size_t c = 0; c < columns_.size(); ++c) {
    query[c] = static_cast<float>((state[columns_[c]] - mean_[c]) * scale_[c]);
  }
  for (size_t begin = 0; begin < stride_; begin += kBlock) {
    float sum[kBlock] = {};
    for (size_t c = 0; c < columns_.size(); ++c) {
      const float* column = coordinates_.data() + c * stride_ + begin;
      for (size_t i = 0; i < kBlock; ++i) {
        const float difference = column[i] - query[c];
        sum[i] += difference * difference;
      }
    }
    std::copy_n(sum, kBlock, scratch.state_distance.data() + begin);
  }
}

void NearestDynamics::Select(double action, Scratch& scratch) const {
  const auto a = static_cast<float>(action);
  const size_t wanted = std::min(kNeighbours, rows_.size());
  // The wanted-th smallest of the block minima bounds the wanted-th smallest distance from above:
  // that many different rows lie at or below it.
  scratch.minima.clear();
  for (size_t begin = 0; begin < stride_; begin += kBlock) {
    float least[16];
    std::fill_n(least, 16, kFar * kFar);
    for (size_t i = 0; i < kBlock; ++i) {
      const float difference = (action_[begin + i] - a) * kActionWeight;
      const float distance = scratch.state_distance[begin + i] + difference * difference;
      scratch.distance[begin + i] = distance;
      least[i % 16] = std::min(least[i % 16], distance);
    }
    scratch.minima.push_back(*std::min_element(least, least + 16));
  }
  float bound = std::numeric_limits<float>::infinity();
  if (scratch.minima.size() >= wanted) {
    std::nth_element(scratch.minima.begin(),
                     scratch.minima.begin() + static_cast<ptrdiff_t>(wanted - 1),
                     scratch.minima.end());
    bound = scratch.minima[wanted - 1];
  }
  auto& candidates = scratch.candidates;
  candidates.clear();
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (scratch.distance[i] <= bound) {
      candidates.emplace_back(scratch.distance[i], static_cast<uint32_t>(i));
    }
  }
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(wanted),
                    candidates.end());
  scratch.found = wanted;
}

void NearestDynamics::Advance(const AdvanceBatch& batch) const {
  Scratch& scratch = Scratch::OfThread(stride_);
  const size_t features = dataset_.feature_count();
  const size_t terms = table_->terms_per_row();
  const double* shared = nullptr;  // the state whose distances are in scratch
  for (size_t i = 0; i < batch.n; ++i) {
    const double* state = batch.state + i * features;
    if (shared == nullptr || std::memcmp(shared, state, features * sizeof(double)) != 0) {
      StateDistances(state, scratch);
      shared = state;
    }
    Select(batch.action[i], scratch);
    double* out = batch.terms + i * terms;
    std::fill_n(out, terms, 0.0);
    for (size_t k = 0; k < scratch.found; ++k) {
      const double* of_row = table_->terms(rows_[scratch.candidates[k].second]);
      for (size_t t = 0; t < terms; ++t) out[t] += of_row[t];
    }
    for (size_t t = 0; t < terms; ++t) out[t] /= static_cast<double>(scratch.found);
    const size_t pick = Rng(batch.noise[i]).Below(scratch.found);
    const uint32_t row = rows_[scratch.candidates[pick].second];
    const auto next = dataset_.next_state(table_->last(row));
    std::copy_n(next.data(), features, batch.next_state + i * features);
    batch.next_row[i] = kNoRow;
  }
}

Simulated NearestDynamics::Simulate(std::span<const double> state, double action) const {
  Scratch& scratch = Scratch::OfThread(stride_);
  StateDistances(state.data(), scratch);
  Select(action, scratch);
  const auto [squared, nearest] = scratch.candidates.front();
  return {dataset_.next_state(rows_[nearest]), std::sqrt(squared)};
}

}  // namespace kernelx
