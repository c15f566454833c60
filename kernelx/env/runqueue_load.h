// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What runs on a simulated run queue: tasks by kind, how long they work, what wakes them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/dataset/transition.h"
#include "kernelx/ground/rng.h"

namespace kernelx {

enum class TaskKind : uint8_t {
  kPeriodic,   ///< woken by a timer, works one burst, sleeps to the next period
  kServer,     ///< woken by an interrupt at random arrivals, one burst a request
  kHog,        ///< never sleeps
  kMessaging,  ///< woken by a task of its group; one burst a message, passed on to another of them
};

/// "periodic", "server", "hog", "messaging".
std::string_view TaskKindName(TaskKind kind);

/// How much CPU a burst takes: log-normal, or one of those given.
struct BurstLaw {
  double median_us = 100.0;
  double sigma = 0.0;  ///< of the logarithm
  /// Recorded bursts, us, drawn with equal probability instead; null or empty: log-normal.
  std::shared_ptr<const std::vector<double>> recorded = nullptr;

  [[nodiscard]] double Draw(Rng& rng) const;
};

struct TaskSpec {
  TaskKind kind = TaskKind::kPeriodic;
  std::string comm;
  BurstLaw burst{};
  double period_us = 0.0;  ///< kPeriodic: the period; kServer: mean time between arrivals
  uint32_t group = 0;      ///< kMessaging: which crowd
  int nice = 0;
  bool recorded = true;  ///< false: runs, but nobody watches it or acts on it
};

struct RunQueueLoad {
  uint32_t cpus = 2;
  std::vector<TaskSpec> tasks;
  /// Messages always under way in each crowd, by group.
  std::vector<uint32_t> messages;
  /// CPU time that a switch costs the task switched to.
  double switch_cost_us = 1.5;
};

/// How many tasks of each kind `MixedLoad` makes.
struct LoadCounts {
  int periodic = 12;
  int servers = 4;
  int hogs = 4;
  int crowd = 16;
  int messages = 4;              ///< under way in the crowd
  double shortest_us = 700.0;    ///< of the periods
  double most_work = 0.08;       ///< of its period that a periodic task works
  bool watch_background = true;  ///< hogs and crowd are recorded too
};

/// A load like those of the bundled recordings, on two CPUs: periods of 0.7 to 20 ms with 20 to
/// 1500 us of work, echo servers, CPU hogs, a messaging crowd, and the recorder itself, which runs
/// at nice -20 every 0.3 ms unwatched. `seed` draws periods and work.
RunQueueLoad MixedLoad(uint64_t seed, const LoadCounts& counts = {});

/// CPU time between consecutive events of the tasks named `comm`, us: bursts for a `BurstLaw`.
std::shared_ptr<const std::vector<double>> RecordedBursts(std::span<const RawTransition> rows,
                                                          std::string_view comm);

/// Throws kUsage naming the first task or field that makes no sense.
void CheckLoad(const RunQueueLoad& load);

}  // namespace kernelx
