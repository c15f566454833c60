// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/runqueue_effect.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace kernelx {
namespace {

constexpr size_t kShareEvents = 5;
constexpr size_t kMinDraws = 100;

struct Sample {
  double action = 0.0;
  double wait = 0.0, share = 0.0, before = 0.0, wait_us = 0.0;
  std::string cluster;
};

Slope FitSlope(const std::vector<Sample>& samples, double Sample::*outcome) {
  const auto n = static_cast<double>(samples.size());
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (const Sample& s : samples) {
    mean_x += s.action / n;
    mean_y += s.*outcome / n;
  }
  double xx = 0.0;
  double xy = 0.0;
  for (const Sample& s : samples) {
    xx += (s.action - mean_x) * (s.action - mean_x);
    xy += (s.action - mean_x) * (s.*outcome - mean_y);
  }
  const double slope = xy / xx;
  std::map<std::string_view, double> scores;
  for (const Sample& s : samples) {
    const double x = s.action - mean_x;
    scores[s.cluster] += x * (s.*outcome - mean_y - slope * x);
  }
  double squares = 0.0;
  for (const auto& [cluster, score] : scores) squares += score * score;
  const auto clusters = static_cast<double>(scores.size());
  return {.slope = slope, .se = std::sqrt(squares * clusters / (clusters - 1)) / xx};
}

std::array<double, 5> MeanWaits(const std::vector<Sample>& samples) {
  std::array<double, 5> sum{};
  std::array<double, 5> count{};
  for (const Sample& s : samples) {
    const auto bin = static_cast<size_t>(std::clamp(std::floor((s.action + 1.0) / 0.4), 0.0, 4.0));
    sum[bin] += s.wait_us;
    count[bin] += 1.0;
  }
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] = count[i] > 0.0 ? sum[i] / count[i] : std::numeric_limits<double>::quiet_NaN();
  }
  return sum;
}

/// Row indices by task, in order of time.
std::vector<std::vector<size_t>> ByTask(std::span<const RawTransition> rows) {
  std::map<std::pair<int32_t, uint64_t>, std::vector<size_t>> tasks;
  for (size_t i = 0; i < rows.size(); ++i) {
    tasks[{rows[i].state.pid, rows[i].state.features[kSlotStartNs]}].push_back(i);
  }
  std::vector<std::vector<size_t>> out;
  for (auto& [id, indices] : tasks) {
    std::ranges::stable_sort(indices, {}, [&](size_t i) { return rows[i].state.timestamp_ns; });
    out.push_back(std::move(indices));
  }
  return out;
}

double LogShare(std::span<const RawTransition> rows, std::span<const size_t> events) {
  const RawState& first = rows[events.front()].state;
  const RawState& last = rows[events.back()].next;
  const auto exec_us =
      static_cast<double>(last.features[kSlotExecNs] - first.features[kSlotExecNs]) / 1e3;
  const auto dt_us = static_cast<double>(last.timestamp_ns - first.timestamp_ns) / 1e3;
  return std::log((exec_us + 20.0) / (dt_us + 100.0));
}

}  // namespace

std::string_view KindOfCommand(std::string_view comm) {
  static constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"periodic", "periodic"},       {"sim-periodic", "periodic"},
      {"echosrv", "server"},          {"echocli", "server"},
      {"sim-server", "server"},       {"sched-messaging", "messaging"},
      {"sim-messaging", "messaging"}, {"sim-hog", "hog"},
      {"stress-ng-cpu", "hog"},       {"stress-ng-qsort", "hog"},
      {"stress-ng-matri", "hog"},     {"sysbench", "hog"},
      {"stress-ng-zlib", "hog"},      {"cc1plus", "hog"}};
  for (const auto& [name, kind] : kKinds) {
    if (comm == name) return kind;
  }
  return {};
}

std::vector<ActionEffect> MeasureEffects(std::span<const RawTransition> rows) {
  std::map<std::pair<std::string, DrawMode>, std::vector<Sample>> samples;
  for (const std::vector<size_t>& task : ByTask(rows)) {
    for (size_t i = 0; i + kShareEvents <= task.size(); ++i) {
      const RawTransition& row = rows[task[i]];
      const std::string kind(KindOfCommand(row.comm));
      const std::span events(&task[i], kShareEvents);
      const RawState& last = rows[events.back()].next;
      if (!row.behavior.drawn || !row.applied.in_force || kind.empty()) continue;
      if (last.features[kSlotExecNs] < row.state.features[kSlotExecNs]) continue;
      const auto wait_us = static_cast<double>(row.next.features[kSlotWaitUs]);
      const bool of_group = row.behavior.mode == DrawMode::kGroup;
      samples[{kind, row.behavior.mode}].push_back(
          {.action = row.action,
           .wait = std::log1p(wait_us),
           .share = LogShare(rows, events),
           .before = std::log1p(static_cast<double>(row.state.features[kSlotWaitUs])),
           .wait_us = wait_us,
           .cluster = row.comm + ' ' +
                      std::to_string(of_group ? row.behavior.window
                                              : static_cast<uint64_t>(row.state.pid))});
    }
  }
  std::vector<ActionEffect> effects;
  for (const auto& [key, of_kind] : samples) {
    if (of_kind.size() < kMinDraws) continue;
    effects.push_back({.kind = key.first,
                       .mode = key.second,
                       .draws = of_kind.size(),
                       .wait = FitSlope(of_kind, &Sample::wait),
                       .share = FitSlope(of_kind, &Sample::share),
                       .placebo = FitSlope(of_kind, &Sample::before),
                       .mean_wait_us = MeanWaits(of_kind)});
  }
  return effects;
}

}  // namespace kernelx
