// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"
#include "kernelx/preprocess/feature_set.h"

namespace kernelx {
namespace {

uint64_t TaskCluster(const Dataset& data, uint32_t row) {
  const uint64_t start = data.has(Column::kStart) ? data.start_ns()[row] : 0;
  return MixSeed(start, static_cast<uint64_t>(static_cast<uint32_t>(data.pid()[row])));
}

double StandingAction(const Dataset& data, uint32_t row, int column) {
  return column >= 0 ? data.state(row)[static_cast<size_t>(column)] : 0.0;
}

}  // namespace

std::vector<size_t> PolicyColumns(const Dataset& dataset) {
  std::vector<size_t> columns;
  if (!dataset.sidecar().empty()) {
    const FeatureSet set = FeatureSet::FromJson(dataset.sidecar(), "features.json");
    for (size_t i = 0; i < set.size(); ++i) {
      if (set.features()[i].policy) columns.push_back(i);
    }
    if (set.size() != dataset.feature_count()) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("{}: features.json describes {} features, but a state has {}; "
                              "preprocess the recording again",
                              dataset.source(), set.size(), dataset.feature_count()));
    }
  }
  if (columns.empty()) {
    for (size_t i = 0; i < dataset.feature_count(); ++i) columns.push_back(i);
  }
  return columns;
}

CollectedDraws CollectDraws(const Dataset& data, const Trajectories& trajectories,
                            const Reward& reward, int hold, DrawScope scope) {
  if (!data.has(Column::kBehavior)) {
    throw Error(
        ErrorCode::kBadInput,
        data.source() +
            ": the rows carry no propensities (key \"behavior\"), so logged outcomes cannot "
            "judge a policy; use a recording with drawn actions");
  }
  CollectedDraws out;
  const auto terms = reward.terms();
  out.draws.rewards.push_back({.name = "total", .value = {}});
  for (const auto term : terms)
    out.draws.rewards.push_back({.name = std::string(term), .value = {}});
  const std::vector<size_t> columns = PolicyColumns(data);
  out.draws.feature_count = columns.size();
  const int standing = FindColumn(data.feature_names(), "previous_action");

  for (uint32_t row = 0; row < data.size(); ++row) {
    const Behavior& behavior = data.behavior()[row];
    if (!behavior.drawn) continue;
    if (behavior.mode != DrawMode::kTask) {
      ++out.group_draws;
      continue;
    }
    if (scope == DrawScope::kInForce && data.has(Column::kApplied) &&
        !data.applied()[row].in_force) {
      continue;
    }
    if (trajectories.remaining(row) < static_cast<uint32_t>(hold)) {
      ++out.short_ones;
      continue;
    }
    const double action = data.action()[row];
    double values[Reward::kMaxTerms];
    reward.FromOutcome(OutcomeAt(data, trajectories, row, hold), values);
    reward.FromAction(action, StandingAction(data, row, standing), values + reward.outcome_terms());
    double total = 0.0;
    for (size_t t = 0; t < terms.size(); ++t) {
      total += values[t];
      out.draws.rewards[t + 1].value.push_back(values[t]);
    }
    out.draws.rewards[0].value.push_back(total);
    out.draws.action.push_back(action);
    out.draws.p_zero.push_back(behavior.p_zero);
    out.draws.cluster.push_back(TaskCluster(data, row));
    for (const size_t column : columns) out.draws.features.push_back(data.state(row)[column]);
    out.rows.push_back(row);
  }
  if (out.rows.empty()) {
    const bool none = out.group_draws + out.short_ones == 0;
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: {}, so logged outcomes cannot judge a policy; use a {}recording "
                    "with drawn actions",
                    data.source(),
                    none ? "no action was drawn at random"
                         : fmt::format("of the drawn actions {} are of a whole group and {} stand "
                                       "at the end of a task's recording",
                                       out.group_draws, out.short_ones),
                    none ? "" : "longer "));
  }
  return out;
}

}  // namespace kernelx
