// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/dynamics.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "kernelx/env/decision_table.h"
#include "kernelx/env/lookup_dynamics.h"
#include "kernelx/env/nearest_dynamics.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/parallel.h"

namespace kernelx {
namespace {

/// Few and registered once: a list will do.
std::vector<std::pair<std::string, DynamicsFactory>>& Factories() {
  static std::vector<std::pair<std::string, DynamicsFactory>> factories;
  return factories;
}

}  // namespace

void RegisterDynamics(std::string_view kind, DynamicsFactory factory) {
  std::erase_if(Factories(), [&](const auto& entry) { return entry.first == kind; });
  Factories().emplace_back(kind, factory);
}

std::unique_ptr<Dynamics> MakeDynamics(std::string_view name, const DynamicsInputs& inputs) {
  if (inputs.dataset.empty()) {
    throw Error(ErrorCode::kBadInput,
                inputs.dataset.source() + ": no rows; record or preprocess some");
  }
  if (name == "replay") return std::make_unique<ReplayDynamics>(inputs);
  if (name == "nearest-state") return std::make_unique<NearestStateDynamics>(inputs);
  if (name == "nearest") return std::make_unique<NearestDynamics>(inputs);
  std::string known = "replay, nearest or nearest-state";
  for (const auto& [kind, factory] : Factories()) {
    if (name.starts_with(kind + ":")) return factory(name.substr(kind.size() + 1), inputs);
    known += " or " + kind + ":FILE";
  }
  throw Error(ErrorCode::kUsage, fmt::format("dynamics: \"{}\" is unknown; use {}", name, known));
}

std::vector<uint32_t> RandomisedRows(const Dataset& data) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < data.size(); ++row) {
    if (data.has(Column::kBehavior)) {
      const Behavior& behavior = data.behavior()[row];
      if (!behavior.drawn || behavior.mode != DrawMode::kTask) continue;
    }
    if (data.has(Column::kApplied) && data.applied()[row].known && !data.applied()[row].in_force) {
      continue;
    }
    rows.push_back(row);
  }
  return rows;
}

DecisionTable::DecisionTable(const DynamicsInputs& inputs)
    : terms_per_row_(inputs.reward.outcome_terms()),
      terms_(inputs.dataset.size() * terms_per_row_),
      places_(inputs.dataset.size()) {
  const Trajectories& trajectories = inputs.trajectories;
  ParallelFor(inputs.dataset.size(), inputs.threads, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const auto first = static_cast<uint32_t>(row);
      inputs.reward.FromOutcome(OutcomeAt(inputs.dataset, trajectories, first, inputs.hold),
                                terms_.data() + row * terms_per_row_);
      uint32_t last = first;
      uint32_t next = trajectories.next(first);
      for (int i = 1; i < inputs.hold && next != kNoRow; ++i) {
        last = next;
        next = trajectories.next(next);
      }
      places_[row] = {.last = last, .next = next};
    }
  });
}

}  // namespace kernelx
