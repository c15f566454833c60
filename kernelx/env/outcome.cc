// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

/// Columns of the seed's features, which open every feature set made from the seed's ten.
constexpr size_t kExecColumn = 4;
constexpr size_t kWaitColumn = 9;

/// Slack of the bounded slowdown: waits below this matter little.
constexpr double kSlowdownSlackUs = 100.0;

uint64_t StartOf(const Dataset& data, uint32_t row) {
  return data.has(Column::kStart) ? data.start_ns()[row] : 0;
}

/// `later` - `earlier`, or 0 where it is behind.
double Forward(uint64_t later, uint64_t earlier) {
  return later > earlier ? static_cast<double>(later - earlier) : 0.0;
}

/// CPU time of a row, us; none where the counter ran backwards (another task under the same pid).
double BurstUs(const Delta& delta) {
  const auto exec_ns = static_cast<int64_t>(delta.exec_ns);
  return exec_ns > 0 ? static_cast<double>(exec_ns) / 1e3 : 0.0;
}

bool RunsBackwards(const Dataset& data, uint32_t row) {
  return static_cast<int64_t>(data.delta()[row].exec_ns) < 0 ||
         (data.has(Column::kNextTimestamp) &&
          data.next_timestamp_ns()[row] < data.timestamp_ns()[row]);
}

/// Does `b`, the pid's next row in time, go on where `a` ends?
bool Continues(const Dataset& data, uint32_t a, uint32_t b) {
  if (data.pid()[a] != data.pid()[b] || StartOf(data, a) != StartOf(data, b)) return false;
  if (RunsBackwards(data, a) || RunsBackwards(data, b)) return false;
  if (data.has(Column::kNextTimestamp)) {
    return data.next_timestamp_ns()[a] == data.timestamp_ns()[b];
  }
  // The seed's files say neither start time nor next timestamp: the state must be the one the
  // transition ended in.
  return std::ranges::equal(data.next_state(a), data.state(b));
}

void SeedGains(std::span<const double> first, std::span<const double> last, Outcome& outcome) {
  if (first.size() <= kWaitColumn) return;
  outcome.seed_exec_gain = last[kExecColumn] - first[kExecColumn];
  outcome.seed_wait_gain = last[kWaitColumn] - first[kWaitColumn];
}

void LinkTasks(const Dataset& data, std::vector<uint32_t>& next) {
  std::vector<uint32_t> order(data.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
    const auto key = [&](uint32_t row) {
      return std::tuple(data.pid()[row], StartOf(data, row), data.timestamp_ns()[row]);
    };
    return key(a) < key(b);
  });
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    if (Continues(data, order[i], order[i + 1])) next[order[i]] = order[i + 1];
  }
}

void CheckOutcomes(const Dataset& data, Order order) {
  if (order == Order::kTask && data.delta().size() < data.size()) {
    throw Error(ErrorCode::kBadInput,
                data.source() +
                    ": the rows say neither what CPU time and waits were (key \"delta\") nor have "
                    "the seed's ten features to tell them from; preprocess the recording again");
  }
  if (order == Order::kRecorded && data.size() > 0 && data.feature_count() <= kWaitColumn) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: order recorded compares the seed's features, but a state has only "
                            "{}; preprocess with --features seed or extended",
                            data.source(), data.feature_count()));
  }
}

}  // namespace

Trajectories::Trajectories(const Dataset& dataset, Order order)
    : order_(order), next_(dataset.size(), kNoRow), remaining_(dataset.size(), 0) {
  if (dataset.size() >= kNoRow) {
    throw Error(ErrorCode::kBadInput, dataset.source() + ": more than 4 billion rows; split it");
  }
  CheckOutcomes(dataset, order);
  const auto rows = static_cast<uint32_t>(dataset.size());
  if (order == Order::kRecorded) {
    for (uint32_t row = 0; row + 1 < rows; ++row) next_[row] = row + 1;
  } else {
    LinkTasks(dataset, next_);
  }
  // Trajectories are chains: walk each from its head, then count backwards along it.
  std::vector<bool> has_previous(rows, false);
  for (const uint32_t row : next_) {
    if (row != kNoRow) has_previous[row] = true;
  }
  std::vector<uint32_t> chain;
  for (uint32_t head = 0; head < rows; ++head) {
    if (has_previous[head]) continue;
    chain.clear();
    for (uint32_t row = head; row != kNoRow; row = next_[row]) chain.push_back(row);
    for (size_t i = 0; i < chain.size(); ++i) {
      remaining_[chain[i]] = static_cast<uint32_t>(chain.size() - i);
    }
  }
}

Outcome OutcomeAt(const Dataset& data, const Trajectories& trajectories, uint32_t row, int hold) {
  Outcome outcome;
  const auto first = data.state(row);
  if (trajectories.order() == Order::kRecorded) {
    uint32_t last = row;
    for (int i = 0; i < hold && trajectories.next(last) != kNoRow; ++i, ++outcome.events) {
      last = trajectories.next(last);
    }
    SeedGains(first, data.state(last), outcome);
    return outcome;
  }
  uint32_t last = row;
  double log_wait = 0.0;
  double log_slowdown = 0.0;
  for (uint32_t at = row; outcome.events < hold && at != kNoRow; at = trajectories.next(at)) {
    const Delta& delta = data.delta()[at];
    const double burst_us = BurstUs(delta);
    const auto wait_us = static_cast<double>(delta.next_wait_us);
    outcome.exec_us += burst_us;
    if (data.has(Column::kNextTimestamp)) {
      outcome.dt_us += Forward(data.next_timestamp_ns()[at], data.timestamp_ns()[at]) / 1e3;
    } else if (const uint32_t next = trajectories.next(at); next != kNoRow) {
      outcome.dt_us += Forward(data.timestamp_ns()[next], data.timestamp_ns()[at]) / 1e3;
    }
    log_wait += std::log1p(wait_us);
    log_slowdown +=
        std::log((wait_us + burst_us + kSlowdownSlackUs) / (burst_us + kSlowdownSlackUs));
    last = at;
    ++outcome.events;
  }
  outcome.log_wait = log_wait / outcome.events;
  outcome.log_slowdown = log_slowdown / outcome.events;
  SeedGains(first, data.next_state(last), outcome);
  return outcome;
}

}  // namespace kernelx
