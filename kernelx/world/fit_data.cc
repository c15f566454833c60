// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/world/fit_data.h"

#include <algorithm>
#include <cmath>

#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"
#include "kernelx/world/fit.h"

namespace kernelx {
namespace {

constexpr double kSdFloor = 1e-3;

/// Mean and standard deviation by Welford's recurrence.
struct Moments {
  double n = 0.0, mean = 0.0, squares = 0.0;
  void Add(double x) {
    n += 1.0;
    const double shift = x - mean;
    mean += shift / n;
    squares += shift * (x - mean);
  }
  [[nodiscard]] double sd() const {
    return n > 0.0 ? std::max(std::sqrt(squares / n), kSdFloor) : 1.0;
  }
};

}  // namespace

uint64_t TaskKey(const Dataset& data, uint32_t row) {
  const uint64_t start = data.has(Column::kStart) ? data.start_ns()[row] : 0;
  return MixSeed(start, static_cast<uint64_t>(static_cast<uint32_t>(data.pid()[row])));
}

std::vector<uint32_t> UsableRows(const Dataset& data) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < data.size(); ++row) {
    const bool backwards = static_cast<int64_t>(data.delta()[row].exec_ns) < 0 ||
                           (data.has(Column::kNextTimestamp) &&
                            data.next_timestamp_ns()[row] < data.timestamp_ns()[row]);
    if (!backwards) rows.push_back(row);
  }
  return rows;
}

void FitScales(const Dataset& data, const EventFeatures& features, std::span<const uint32_t> rows,
               WorldModel& model) {
  std::array<Moments, EventFeatures::kInputs> inputs;
  std::array<Moments, kGaussians> targets;
  for (const uint32_t row : rows) {
    const auto state = data.state(row);
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].Add(state[features.inputs()[i]]);
    const TaskEvent event = features.Recorded(data, row);
    const auto values = GaussianValues(event);
    for (size_t j = 0; j < kGaussians; ++j) {
      if (j != 1 || event.wake[0] == 0.0) targets[j].Add(values[j]);
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    model.mean[i] = inputs[i].mean;
    model.sd[i] = inputs[i].sd();
  }
  for (size_t j = 0; j < kGaussians; ++j) {
    model.targets.mean[j] = targets[j].mean;
    model.targets.sd[j] = targets[j].sd();
  }
}

FitData FitData::Of(const Dataset& data, const EventFeatures& features, const WorldModel& model,
                    std::span<const uint32_t> rows, unsigned threads) {
  FitData fit;
  const size_t n = rows.size();
  fit.row.assign(rows.begin(), rows.end());
  fit.inputs.resize(n * EventFeatures::kInputs);
  fit.previous_action.resize(n);
  fit.action.resize(n);
  fit.target.resize(n);
  fit.task.resize(n);
  ParallelFor(n, threads, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const double* state = data.state(rows[i]).data();
      model.Encode(
          features, state,
          std::span(fit.inputs).subspan(i * EventFeatures::kInputs, EventFeatures::kInputs));
      fit.previous_action[i] = static_cast<float>(state[features.previous_action()]);
      fit.action[i] = static_cast<float>(std::clamp(data.action()[rows[i]], -1.0, 1.0));
      fit.target[i] = TargetOf(features.Recorded(data, rows[i]), model.targets);
      fit.task[i] = TaskKey(data, rows[i]);
    }
  });
  return fit;
}

}  // namespace kernelx
