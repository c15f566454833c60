// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What `kernelx top` shows, and its lines for a screen of any size. Not here: the terminal
// (top.cc).
#pragma once

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/ground/histogram.h"
#include "kernelx/record/sensor.h"

namespace kernelx::cli {

struct TopTask {
  int32_t pid = 0;
  std::string comm = {};
  double wait_p50_us = 0.0, wait_p99_us = 0.0;
  double switches_per_s = 0.0;
  double cpu_share = 0.0;     ///< of one CPU
  std::string woken_by = {};  ///< by what most often; empty when not known
  double action = 0.0;        ///< the nudge that stands; 0: none
  std::string why = {};
};

/// One look.
struct TopModel {
  std::string source;  ///< `live` or `sensor`
  std::string rung;
  double events_per_s = 0.0;
  uint64_t dropped = 0;
  std::string policy;  ///< of the `live` that runs
  bool dry_run = false;
  uint64_t nudges = 0, touched = 0;
  double decisions_per_s = 0.0, latency_p50_us = 0.0, latency_p99_us = 0.0;
  double own_cpu_share = 0.0;
  std::vector<std::pair<std::string, double>> reward;  ///< terms of `balanced`, mean
  std::vector<TopTask> tasks;                          ///< most waiting first
};

/// From the status file of a running `live` (docs/live.md), with the one before for rates. Throws
/// nlohmann::json::exception for another kind of file.
[[nodiscard]] TopModel ModelOfLive(const nlohmann::json& status, const nlohmann::json& before,
                                   double seconds);

/// Gathers what a sensor of our own sees between two looks.
class TopGatherer final : public SensorSink {
 public:
  void OnEvent(const SchedEvent& event) override;
  void OnLost(uint64_t count) override;
  void OnExit(int32_t pid, uint64_t start_ns) override;
  /// What came in the `seconds` since the last look.
  [[nodiscard]] TopModel Look(const Sensor& sensor, double seconds);

 private:
  struct Task {
    std::string comm = {};
    Histogram waits = {};
    std::array<uint64_t, 6> woken = {};  ///< by `WokenBy`
    uint64_t start_ns = 0, exec_ns = 0, at_ns = 0;
    uint64_t used_ns = 0;  ///< CPU time since the last look
  };
  std::map<int32_t, Task> tasks_;
  double latency_sum_ = 0.0, price_sum_ = 0.0;
  uint64_t outcomes_ = 0;
  uint64_t events_ = 0;
};

/// At most `height` lines of at most `width` columns.
[[nodiscard]] std::vector<std::string> Frame(const TopModel& model, int width, int height);
[[nodiscard]] nlohmann::json ToJson(const TopModel& model);

}  // namespace kernelx::cli
