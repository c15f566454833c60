// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/preprocess/extractor.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kernelx {
namespace {

constexpr double kRate = 1.0 / 8;
constexpr double kFamilyWindowUs = 100e3;
/// One jump of the wake interval counts for at most this much: a task that starts to sleep long
/// now and then is not thereby irregular for ever.
constexpr double kMaxIrregularity = 3.0;

/// Rate of the n-th update (n from 0): an average first, exponential later.
double Rate(uint32_t n) { return n < 8 ? 1.0 / (n + 1) : kRate; }

/// What has decayed beyond any effect becomes 0: numbers near the smallest are slow.
constexpr double kNothing = 1e-30;

void Move(double& mean, double value, double rate) {
  mean += rate * (value - mean);
  if (std::abs(mean) < kNothing) mean = 0.0;
}

double LogMicroseconds(double us) { return std::log1p(us); }

void ObserveWake(const RawState& event, TaskHistory& task) {
  const auto& f = event.features;
  const uint64_t wait_ns = f[kSlotWaitUs] * 1000;
  const uint64_t wake_ns = event.timestamp_ns > wait_ns ? event.timestamp_ns - wait_ns : 0;
  if (task.wakes > 0) {
    const double interval_us =
        wake_ns > task.last_wake_ns ? static_cast<double>(wake_ns - task.last_wake_ns) / 1e3 : 0.0;
    const double ln_interval = std::log(std::max(interval_us, 1.0));
    if (task.wakes > 1) {
      Move(task.wake_irregularity,
           std::min(std::abs(ln_interval - task.last_ln_interval), kMaxIrregularity), kRate);
    }
    task.last_ln_interval = ln_interval;
  }
  task.last_wake_ns = wake_ns;
  Move(task.sleep_ema, LogMicroseconds(static_cast<double>(f[kSlotSleepUs])), Rate(task.wakes));
  ++task.wakes;
  if (f[kSlotWokenBy] == static_cast<uint64_t>(WokenBy::kTask)) {
    if (task.task_wakes > 0) {
      Move(task.waker_novelty, f[kSlotWakerPid] != task.last_waker ? 1.0 : 0.0, kRate);
    }
    task.last_waker = f[kSlotWakerPid];
    ++task.task_wakes;
  }
}

/// Folds the event into the task's history; returns the CPU time used since the last one, us.
double ObserveTask(const RawState& event, TaskHistory& task) {
  const auto& f = event.features;
  double burst_us = 0.0;
  if (task.events > 0) {
    burst_us = static_cast<double>(f[kSlotExecNs] - task.exec_ns) / 1e3;
    Move(task.burst_ema, LogMicroseconds(burst_us), Rate(task.events - 1));
    const auto voluntary = static_cast<double>(f[kSlotVoluntary] - task.voluntary);
    const auto involuntary = static_cast<double>(f[kSlotInvoluntary] - task.involuntary);
    if (voluntary + involuntary > 0) {
      Move(task.voluntary_share, voluntary / (voluntary + involuntary), kRate);
    }
  }
  const auto woken_by = f[kSlotWokenBy];
  const auto is = [&](WokenBy by) { return woken_by == static_cast<uint64_t>(by) ? 1.0 : 0.0; };
  const double rate = Rate(task.events);
  Move(task.wait_ema, LogMicroseconds(static_cast<double>(f[kSlotWaitUs])), rate);
  Move(task.timer_share, is(WokenBy::kTimer), rate);
  Move(task.irq_share, is(WokenBy::kSoftirq) + is(WokenBy::kHardirq), rate);
  Move(task.task_share, is(WokenBy::kTask), rate);
  Move(task.preempted_share, is(WokenBy::kNobody), rate);
  if (woken_by != static_cast<uint64_t>(WokenBy::kNobody)) ObserveWake(event, task);

  task.exec_ns = f[kSlotExecNs];
  task.voluntary = f[kSlotVoluntary];
  task.involuntary = f[kSlotInvoluntary];
  task.last_timestamp_ns = event.timestamp_ns;
  ++task.events;
  return burst_us;
}

double HistoryValue(FeatureKind kind, const TaskHistory& task) {
  switch (kind) {
    case FeatureKind::kWaitEma:
      return task.wait_ema;
    case FeatureKind::kWakeIrregularity:
      return task.wake_irregularity;
    case FeatureKind::kTimerShare:
      return task.timer_share;
    case FeatureKind::kIrqShare:
      return task.irq_share;
    case FeatureKind::kTaskShare:
      return task.task_share;
    case FeatureKind::kPreemptedShare:
      return task.preempted_share;
    case FeatureKind::kWakerNovelty:
      return task.waker_novelty;
    case FeatureKind::kBurstEma:
      return task.burst_ema;
    case FeatureKind::kVoluntaryShare:
      return task.voluntary_share;
    case FeatureKind::kSleepEma:
      return task.sleep_ema;
    case FeatureKind::kSlot:
    case FeatureKind::kFamilyLoad:
    case FeatureKind::kPreviousAction:
      break;
  }
  return 0.0;
}

}  // namespace

TaskId TaskOf(const RawState& event) { return {event.pid, event.features[kSlotStartNs]}; }

FeatureExtractor::FeatureExtractor(FeatureSet set) : set_(std::move(set)) {}

uint64_t FeatureExtractor::LastEvent(const TaskId& task) const {
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? 0 : found->second.last_timestamp_ns;
}

double FeatureExtractor::FamilyLoad(const RawState& event, double burst_us) {
  const uint64_t tgid = event.features[kSlotTgid];
  Family& family = families_[tgid != 0 ? tgid : static_cast<uint64_t>(event.pid)];
  if (event.timestamp_ns > family.updated_ns) {
    const double elapsed_us = static_cast<double>(event.timestamp_ns - family.updated_ns) / 1e3;
    family.load *= std::exp(-elapsed_us / kFamilyWindowUs);
    family.updated_ns = event.timestamp_ns;
  }
  family.load += burst_us / kFamilyWindowUs;
  return family.load;
}

void FeatureExtractor::Observe(const RawState& event, double standing_action,
                               std::span<double> features) {
  TaskHistory& task = tasks_[TaskOf(event)];
  const bool backwards = task.events > 0 && (event.timestamp_ns <= task.last_timestamp_ns ||
                                             event.features[kSlotExecNs] < task.exec_ns ||
                                             event.features[kSlotVoluntary] < task.voluntary ||
                                             event.features[kSlotInvoluntary] < task.involuntary);
  if (backwards) task = TaskHistory{};
  const double burst_us = ObserveTask(event, task);
  const double family_load = FamilyLoad(event, burst_us);
  if (!features.empty()) Write(event, task, family_load, standing_action, features);
}

void FeatureExtractor::Write(const RawState& event, const TaskHistory& task, double family_load,
                             double standing_action, std::span<double> features) const {
  size_t column = 0;
  for (const Feature& feature : set_.features()) {
    double value = 0.0;
    switch (feature.kind) {
      case FeatureKind::kSlot:
        value = static_cast<double>(event.features[static_cast<size_t>(feature.slot)]);
        break;
      case FeatureKind::kFamilyLoad:
        value = family_load;
        break;
      case FeatureKind::kPreviousAction:
        value = standing_action;
        break;
      default:
        value = HistoryValue(feature.kind, task);
    }
    value *= feature.scale;
    features[column++] = feature.transform == Transform::kSymlog ? Symlog(value) : value;
  }
}

}  // namespace kernelx
