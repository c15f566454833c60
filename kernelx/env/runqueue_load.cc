// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/runqueue_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernelx/ground/error.h"

namespace kernelx {

std::string_view TaskKindName(TaskKind kind) {
  switch (kind) {
    case TaskKind::kPeriodic:
      return "periodic";
    case TaskKind::kServer:
      return "server";
    case TaskKind::kHog:
      return "hog";
    case TaskKind::kMessaging:
      return "messaging";
  }
  return "";
}

double BurstLaw::Draw(Rng& rng) const {
  if (recorded && !recorded->empty()) return (*recorded)[rng.Below(recorded->size())];
  return sigma > 0.0 ? median_us * std::exp(sigma * rng.Normal()) : median_us;
}

RunQueueLoad MixedLoad(uint64_t seed, const LoadCounts& counts) {
  Rng rng(seed, 11);
  const auto log_uniform = [&](double low, double high) {
    return low * std::exp(rng.Uniform() * std::log(high / low));
  };
  RunQueueLoad load;
  for (int i = 0; i < counts.periodic; ++i) {
    const double period_us = log_uniform(counts.shortest_us, 20e3);
    const double work_us =
        std::clamp(period_us * rng.Uniform(0.01, counts.most_work), 20.0, 1500.0);
    load.tasks.push_back({.kind = TaskKind::kPeriodic,
                          .comm = "sim-periodic",
                          .burst = {.median_us = work_us, .sigma = 0.2},
                          .period_us = period_us});
  }
  for (int i = 0; i < counts.servers; ++i) {
    load.tasks.push_back({.kind = TaskKind::kServer,
                          .comm = "sim-server",
                          .burst = {.median_us = log_uniform(15, 150), .sigma = 0.5},
                          .period_us = log_uniform(1500, 6000)});
  }
  for (int i = 0; i < counts.hogs; ++i) {
    load.tasks.push_back(
        {.kind = TaskKind::kHog, .comm = "sim-hog", .recorded = counts.watch_background});
  }
  for (int i = 0; i < counts.crowd; ++i) {
    load.tasks.push_back({.kind = TaskKind::kMessaging,
                          .comm = "sim-messaging",
                          .burst = {.median_us = log_uniform(12, 60), .sigma = 0.8},
                          .recorded = counts.watch_background});
  }
  if (counts.crowd > 0) load.messages = {static_cast<uint32_t>(counts.messages)};
  load.tasks.push_back({.kind = TaskKind::kPeriodic,
                        .comm = "sim-recorder",
                        .burst = {.median_us = 8.0},
                        .period_us = 300.0,
                        .nice = -20,
                        .recorded = false});
  return load;
}

std::shared_ptr<const std::vector<double>> RecordedBursts(std::span<const RawTransition> rows,
                                                          std::string_view comm) {
  auto bursts = std::make_shared<std::vector<double>>();
  for (const RawTransition& row : rows) {
    const uint64_t before = row.state.features[kSlotExecNs];
    const uint64_t after = row.next.features[kSlotExecNs];
    if (row.comm == comm && after > before) {
      bursts->push_back(static_cast<double>(after - before) / 1e3);
    }
  }
  return bursts;
}

void CheckLoad(const RunQueueLoad& load) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kUsage, "runqueue: " + what);
  };
  if (load.cpus < 1 || load.cpus > 256) {
    refuse(fmt::format("{} CPUs; give 1 to 256", load.cpus));
  }
  if (load.tasks.empty()) refuse("no tasks; give at least one");
  std::vector<size_t> members(load.messages.size(), 0);
  for (size_t i = 0; i < load.tasks.size(); ++i) {
    const TaskSpec& task = load.tasks[i];
    const bool timed = task.kind == TaskKind::kPeriodic || task.kind == TaskKind::kServer;
    if (timed && !(task.period_us >= 1.0)) {
      refuse(fmt::format("task {} has a period of {} us; give 1 or more", i, task.period_us));
    }
    if (task.kind != TaskKind::kHog && !(task.burst.median_us > 0.0)) {
      refuse(fmt::format("task {} has bursts of {} us; give more than 0", i, task.burst.median_us));
    }
    if (task.kind == TaskKind::kMessaging) {
      if (task.group >= members.size()) {
        refuse(fmt::format("task {} is of crowd {}, which has no messages; add a count", i,
                           task.group));
      }
      ++members[task.group];
    }
  }
  for (size_t group = 0; group < members.size(); ++group) {
    if (members[group] < 2) {
      refuse(fmt::format("crowd {} has {} members; give 2 or more", group, members[group]));
    }
  }
}

}  // namespace kernelx
