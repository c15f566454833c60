// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/world/world_model.h"

namespace kernelx {

/// Rows of a dataset as the networks see them; entry i of every array is one event.
struct FitData {
  std::vector<uint32_t> row;
  std::vector<float> inputs;  ///< entry x kInputs
  std::vector<float> previous_action, action;
  std::vector<HeadTarget> target;
  std::vector<uint64_t> task;

  [[nodiscard]] size_t size() const { return row.size(); }
  [[nodiscard]] std::span<const float> input(size_t i) const {
    return std::span(inputs).subspan(i * EventFeatures::kInputs, EventFeatures::kInputs);
  }

  /// Encoded by `model`'s normalisation.
  static FitData Of(const Dataset& data, const EventFeatures& features, const WorldModel& model,
                    std::span<const uint32_t> rows, unsigned threads);
};

/// Rows with a next event over which no counter runs backwards.
std::vector<uint32_t> UsableRows(const Dataset& data);

/// Sets mean and sd of inputs and targets from `rows`.
void FitScales(const Dataset& data, const EventFeatures& features, std::span<const uint32_t> rows,
               WorldModel& model);

}  // namespace kernelx
