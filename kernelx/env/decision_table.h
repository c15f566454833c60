// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What each recorded row would answer as a decision: reward terms of its outcome and where the task
// stands afterwards. Computed once, read by every look-up dynamics.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernelx/env/dynamics.h"

namespace kernelx {

class DecisionTable {
 public:
  explicit DecisionTable(const DynamicsInputs& inputs);
  /// `inputs.table`, or a new one.
  static std::shared_ptr<const DecisionTable> Of(const DynamicsInputs& inputs) {
    return inputs.table ? inputs.table : std::make_shared<DecisionTable>(inputs);
  }

  [[nodiscard]] size_t terms_per_row() const { return terms_per_row_; }
  [[nodiscard]] const double* terms(uint32_t row) const {
    return terms_.data() + size_t{row} * terms_per_row_;
  }
  /// The last row that a decision at `row` covers; its `next_state` is where the decision ends.
  [[nodiscard]] uint32_t last(uint32_t row) const { return places_[row].last; }
  /// The row of the next decision, or kNoRow at the end of the trajectory.
  [[nodiscard]] uint32_t next(uint32_t row) const { return places_[row].next; }
  /// Asks for the cache lines of `row`, which will be read soon.
  void Prefetch(uint32_t row) const {
    __builtin_prefetch(terms(row), 0, 2);
    __builtin_prefetch(&places_[row], 0, 2);
  }

 private:
  struct Place {
    uint32_t last;
    uint32_t next;
  };
  size_t terms_per_row_;
  std::vector<double> terms_;
  std::vector<Place> places_;
};

}  // namespace kernelx
