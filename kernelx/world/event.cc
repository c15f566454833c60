// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/world/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "kernelx/ground/error.h"
#include "kernelx/preprocess/feature_set.h"

namespace kernelx {
namespace {

/// Places in the list of inputs.
enum Input : size_t {
  kWait,
  kWaitEma,
  kWakeIrregularity,
  kTimerShare,
  kIrqShare,
  kTaskShare,
  kPreemptedShare,
  kWakerNovelty,
  kBurstEma,
  kVoluntaryShare,
  kCpuSinceSleep,
  kSleep,
  kSleepEma,
  kUtil,
  kRunnableAvg,
  kRunnable,
};

constexpr std::string_view kInputNames[EventFeatures::kInputs] = {"wait",
                                                                  "wait_ema",
                                                                  "wake_irregularity",
                                                                  "timer_share",
                                                                  "irq_share",
                                                                  "task_share",
                                                                  "preempted_share",
                                                                  "waker_novelty",
                                                                  "burst_ema",
                                                                  "voluntary_share",
                                                                  "cpu_since_sleep",
                                                                  "sleep",
                                                                  "sleep_ema",
                                                                  "util",
                                                                  "runnable_avg",
                                                                  "runnable"};
constexpr double kRate = 1.0 / 8;
constexpr double kFamilyWindowUs = 100e3;
constexpr double kDefaultPrio = 120.0;
constexpr double kMaxRunnableAvg = 6.94;             // ln(1 + 1024)
constexpr double kMinRunnable = 0.6931471805599453;  // the task itself

/// Did the share move towards one?
bool Rose(double before, double after) {
  return after > before || (after == before && after > 0.5);
}

}  // namespace

std::span<const std::string_view> EventFeatures::InputNames() { return kInputNames; }

EventFeatures::EventFeatures(std::span<const std::string> names, const std::string& where)
    : width_(names.size()),
      exec_ns_(FindColumn(names, "exec_ns")),
      vruntime_(FindColumn(names, "vrt")),
      wait_us_(FindColumn(names, "wt_us")),
      prio_(FindColumn(names, "prio")),
      static_prio_(FindColumn(names, "sprio")),
      normal_prio_(FindColumn(names, "nprio")),
      family_load_(FindColumn(names, "family_load")) {
  const auto column = [&](std::string_view name) {
    const int found = FindColumn(names, name);
    if (found < 0) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("{}: feature \"{}\" is missing, which the World Model reads; "
                              "preprocess with --features extended",
                              where, name));
    }
    return static_cast<size_t>(found);
  };
  std::ranges::transform(kInputNames, inputs_.begin(), column);
  previous_action_ = column("previous_action");
}

TaskEvent EventFeatures::Recorded(const Dataset& data, uint32_t row) const {
  const Delta& delta = data.delta()[row];
  const auto before = data.state(row);
  const auto after = data.next_state(row);
  const auto rose = [&](Input input) {
    return Rose(before[inputs_[input]], after[inputs_[input]]);
  };
  const auto change = [&](Input input) { return after[inputs_[input]] - before[inputs_[input]]; };
  Wake wake = Wake::kTask;
  if (rose(kPreemptedShare))
    wake = Wake::kNobody;
  else if (rose(kTimerShare))
    wake = Wake::kTimer;
  else if (rose(kIrqShare))
    wake = Wake::kInterrupt;
  TaskEvent event{
      .wait_us = static_cast<double>(delta.next_wait_us),
      .exec_us = std::max(0.0, static_cast<double>(static_cast<int64_t>(delta.exec_ns)) / 1e3),
      .sleep_us = wake == Wake::kNobody ? 0.0 : static_cast<double>(delta.sleep_us),
      .wake = {},
      .util_change = change(kUtil),
      .runnable_avg_change = change(kRunnableAvg),
      .runnable_change = change(kRunnable)};
  event.wake[static_cast<size_t>(wake)] = 1.0;
  return event;
}

void EventFeatures::Advance(const double* state, const TaskEvent& event, double action,
                            double* next) const {
  std::copy_n(state, width_, next);
  const auto at = [&](Input input) -> double& { return next[inputs_[input]]; };
  const auto move = [&](Input input, double value, double rate) {
    at(input) += rate * (value - at(input));
  };
  const double preempted = event.wake[0];
  const double woken = 1.0 - preempted;
  at(kWait) = std::log1p(event.wait_us);
  move(kWaitEma, at(kWait), kRate);
  move(kPreemptedShare, preempted, kRate);
  move(kTimerShare, event.wake[1], kRate);
  move(kIrqShare, event.wake[2], kRate);
  move(kTaskShare, event.wake[3], kRate);
  move(kBurstEma, std::log1p(event.exec_us), kRate);
  move(kVoluntaryShare, woken, kRate);
  // A wake starts the count of CPU time anew and sets the sleep; a preemption leaves the sleep.
  const double running_us = Symexp(state[inputs_[kCpuSinceSleep]]) + event.exec_us;
  at(kCpuSinceSleep) = preempted * Symlog(running_us);
  const double log_sleep = std::log1p(event.sleep_us);
  move(kSleep, log_sleep, woken);
  move(kSleepEma, log_sleep, kRate * woken);
  at(kUtil) = std::clamp(at(kUtil) + event.util_change, 0.0, 1.0);
  at(kRunnableAvg) = std::clamp(at(kRunnableAvg) + event.runnable_avg_change, 0.0, kMaxRunnableAvg);
  at(kRunnable) = std::max(at(kRunnable) + event.runnable_change, kMinRunnable);
  next[previous_action_] = action;

  const double nice = std::round(10.0 * action);
  const double exec_ns = 1e3 * event.exec_us;
  const auto count = [&](int column, double grown) {
    if (column >= 0) next[column] = std::max(state[column], Symlog(Symexp(state[column]) + grown));
  };
  count(exec_ns_, exec_ns);
  count(vruntime_, exec_ns * std::pow(1.25, nice));
  for (const int column : {prio_, static_prio_, normal_prio_}) {
    if (column >= 0) next[column] = kDefaultPrio + nice;
  }
  if (wait_us_ >= 0) next[wait_us_] = event.wait_us;
  if (family_load_ >= 0) {
    next[family_load_] = At(state, family_load_) * std::exp(-event.dt_us() / kFamilyWindowUs) +
                         event.exec_us / kFamilyWindowUs;
  }
}

}  // namespace kernelx
