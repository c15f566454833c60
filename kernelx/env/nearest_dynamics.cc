// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/nearest_dynamics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernelx/env/row_copy.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"
#include "kernelx/preprocess/feature_set.h"

namespace kernelx {
namespace {

constexpr size_t kStrip = 64;  // rows whose state distances one loop sums, feature by feature
constexpr size_t kBlock = 16;  // rows that one bound covers
static_assert(kStrip % kBlock == 0);
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
  std::vector<float> distance;  // squared, of the state alone, a row each
  std::vector<float> nearest;   // least of them, a block each
  std::vector<float> least;     // what a block's nearest row lies away at least, with its action
  std::vector<float> most;      // ... and at most
  std::vector<uint64_t> keys;   // distance, then place
  std::span<uint64_t> found;    // the part of `keys` that `Select` left

  static Scratch& OfThread(size_t rows) {
    thread_local Scratch scratch;
    if (scratch.distance.size() < rows) {
      scratch.distance.resize(rows);
      scratch.nearest.resize(rows / kBlock);
      scratch.least.resize(rows / kBlock);
      scratch.most.resize(rows / kBlock);
      scratch.keys.resize(rows);
    }
    return scratch;
  }
};

namespace {

/// Distances are not negative, so their bits order as they do.
uint64_t Key(float squared, size_t place) {
  return (uint64_t{std::bit_cast<uint32_t>(squared)} << 32) | static_cast<uint32_t>(place);
}
size_t PlaceOf(uint64_t key) { return static_cast<uint32_t>(key); }
float SquaredOf(uint64_t key) { return std::bit_cast<float>(static_cast<uint32_t>(key >> 32)); }

float ActionPart(float difference) {
  const float scaled = difference * NearestDynamics::kActionWeight;
  return scaled * scaled;
}

/// The least of n values, n a power of two; halving lets the compiler use vectors.
template <size_t n>
float LeastOf(const float* values) {
  float half[n / 2];
  for (size_t i = 0; i < n / 2; ++i) half[i] = std::min(values[i], values[i + n / 2]);
  return LeastOf<n / 2>(half);
}
template <>
float LeastOf<1>(const float* values) {
  return *values;
}

/// A number at least as great as the `rank`-th smallest of `values`, and little greater: exact to a
/// hundredth. Halves an interval of bit patterns, which order as the numbers do.
float RankBound(std::span<const float> values, size_t rank) {
  uint32_t low = 0;
  uint32_t high = std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());
  while (high - low > (1U << 16)) {
    const uint32_t middle = low + (high - low) / 2;
    const float bound = std::bit_cast<float>(middle);
    uint32_t count = 0;
    for (const float value : values) count += value <= bound ? 1 : 0;
    (count >= rank ? high : low) = middle;
  }
  return std::bit_cast<float>(high);
}

}  // namespace

NearestDynamics::NearestDynamics(const DynamicsInputs& inputs)
    : dataset_(inputs.dataset),
      table_(DecisionTable::Of(inputs)),
      rows_(RandomisedRows(inputs.dataset)) {
  if (rows_.empty()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: no row has an action that was drawn at random and in force, so "
                            "nothing tells what an action does; use a recording with drawn actions",
                            dataset_.source()));
  }
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
  if (columns_.empty()) {  // all states alike: the padding must still lie far away
    columns_.push_back(0);
    mean_.push_back(dataset_.state(rows_[0])[0]);
    scale_.push_back(0.0);
  }
  Place(inputs.actions.empty() ? dataset_.action() : inputs.actions);
}

/// Puts the rows in order of their action and lays out what is known of them.
void NearestDynamics::Place(std::span<const double> actions) {
  const auto action = [&](uint32_t row) {
    return static_cast<float>(std::clamp(actions[row], -1.0, 1.0));
  };
  std::ranges::stable_sort(rows_, {}, action);
  const size_t padded = (rows_.size() + kStrip - 1) / kStrip * kStrip;
  const size_t terms = table_->terms_per_row();
  coordinates_.assign(columns_.size() * padded, kFar);
  action_.assign(padded, action(rows_.back()));
  terms_.resize(rows_.size() * terms);
  for (size_t place = 0; place < rows_.size(); ++place) {
    const auto state = dataset_.state(rows_[place]);
    float* strip = coordinates_.data() + place / kStrip * kStrip * columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c) {
      strip[c * kStrip + place % kStrip] =
          static_cast<float>((state[columns_[c]] - mean_[c]) * scale_[c]);
    }
    action_[place] = action(rows_[place]);
    std::copy_n(table_->terms(rows_[place]), terms, terms_.data() + place * terms);
  }
  for (size_t begin = 0; begin < padded; begin += kBlock) {
    lowest_.push_back(action_[begin]);
    highest_.push_back(action_[begin + kBlock - 1]);
  }
}

void NearestDynamics::Look(const double* state, Scratch& scratch) const {
  float query[kMostFeatures];
  for (size_t c = 0; c < columns_.size(); ++c) {
    query[c] = static_cast<float>((state[columns_[c]] - mean_[c]) * scale_[c]);
  }
  const float* column = coordinates_.data();
  for (size_t begin = 0; begin < action_.size(); begin += kStrip) {
    float sum[kStrip] = {};
    for (size_t c = 0; c < columns_.size(); ++c, column += kStrip) {
      for (size_t i = 0; i < kStrip; ++i) {
        const float difference = column[i] - query[c];
        sum[i] += difference * difference;
      }
    }
    std::copy_n(sum, kStrip, scratch.distance.data() + begin);
    for (size_t i = 0; i < kStrip; i += kBlock) {
      scratch.nearest[(begin + i) / kBlock] = LeastOf<kBlock>(sum + i);
    }
  }
}

void NearestDynamics::Select(double action, Scratch& scratch) const {
  const auto a = static_cast<float>(action);
  const size_t wanted = std::min(kNeighbours, rows_.size());
  const size_t blocks = lowest_.size();
  for (size_t b = 0; b < blocks; ++b) {
    const float below = a - lowest_[b];
    const float above = highest_[b] - a;
    // Rounding keeps order, so these bound what the sum for each row will be, to the bit.
    scratch.least[b] = scratch.nearest[b] + ActionPart(std::max(std::max(-below, -above), 0.0F));
    scratch.most[b] = scratch.nearest[b] + ActionPart(std::max(below, above));
  }
  // As many blocks as are wanted hold a row within the bound: so do at least as many rows.
  const float bound = blocks >= wanted ? RankBound({scratch.most.data(), blocks}, wanted)
                                       : std::numeric_limits<float>::infinity();
  // Each candidate is written, and kept when it lies within the bound: no branch to guess.
  size_t count = 0;
  for (size_t b = 0; b < blocks; ++b) {
    if (scratch.least[b] > bound) continue;
    float squared[kBlock];
    for (size_t i = 0; i < kBlock; ++i) {
      const size_t place = b * kBlock + i;
      squared[i] = scratch.distance[place] + ActionPart(action_[place] - a);
    }
    const size_t real = std::min(kBlock, rows_.size() - b * kBlock);
    for (size_t i = 0; i < real; ++i) {
      scratch.keys[count] = Key(squared[i], b * kBlock + i);
      count += squared[i] <= bound ? 1 : 0;
    }
  }
  const auto first = scratch.keys.begin();
  const auto last = first + static_cast<ptrdiff_t>(wanted);
  std::nth_element(first, last - 1, first + static_cast<ptrdiff_t>(count));
  std::sort(first, last);
  scratch.found = {scratch.keys.data(), wanted};
}

void NearestDynamics::Advance(const AdvanceBatch& batch) const {
  Scratch& scratch = Scratch::OfThread(action_.size());
  const size_t features = dataset_.feature_count();
  const size_t terms = table_->terms_per_row();
  const double* shared = nullptr;  // the state whose distances are in scratch
  for (size_t i = 0; i < batch.n; ++i) {
    const double* state = batch.state + i * features;
    if (shared == nullptr || std::memcmp(shared, state, features * sizeof(double)) != 0) {
      Look(state, scratch);
      shared = state;
    }
    Select(batch.action[i], scratch);
    const size_t pick = Rng(batch.noise[i]).Below(scratch.found.size());
    const auto next = dataset_.next_state(table_->last(rows_[PlaceOf(scratch.found[pick])]));
    PrefetchRow(next.data(), features);
    double* out = batch.terms + i * terms;
    std::fill_n(out, terms, 0.0);
    for (const uint64_t key : scratch.found) {
      const double* of_row = terms_.data() + PlaceOf(key) * terms;
      for (size_t t = 0; t < terms; ++t) out[t] += of_row[t];
    }
    for (size_t t = 0; t < terms; ++t) out[t] /= static_cast<double>(scratch.found.size());
    CopyRow(next.data(), batch.next_state + i * features, features);
    batch.next_row[i] = kNoRow;
  }
}

Simulated NearestDynamics::Simulate(std::span<const double> state, double action) const {
  Scratch& scratch = Scratch::OfThread(action_.size());
  Look(state.data(), scratch);
  Select(action, scratch);
  const uint64_t nearest = scratch.found.front();
  return {dataset_.next_state(rows_[PlaceOf(nearest)]), std::sqrt(SquaredOf(nearest))};
}

}  // namespace kernelx
