// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/runqueue_recorder.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr double kWarmUpSeconds = 1.0;

double DrawAction(Rng& rng, double p_zero) {
  const double lot = rng.Uniform();
  const double action = rng.Uniform(-1.0, 1.0);
  return lot < p_zero ? 0.0 : action;
}

bool IsShare(double p) { return p >= 0.0 && p <= 1.0; }

}  // namespace

RunQueueRecorder::RunQueueRecorder(std::shared_ptr<const RunQueueLoad> load, uint64_t seed,
                                   ExploreLaw law)
    : machine_(std::move(load), MixSeed(seed, 1)), law_(law), seed_(seed) {
  if (!IsShare(law.p_draw) || !IsShare(law.p_zero) || !IsShare(law.group_share) ||
      !(law.window_s > 0.0) || !(law.delay_us >= 0.0)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("runqueue: p_draw {}, p_zero {}, group share {} must be within 0 and "
                            "1, window {} s above 0, delay {} us at least 0",
                            law.p_draw, law.p_zero, law.group_share, law.window_s, law.delay_us));
  }
  tasks_.resize(machine_.load().tasks.size());
  Reseed(seed);
}

void RunQueueRecorder::Reseed(uint64_t seed) {
  seed_ = seed;
  machine_.Reseed(MixSeed(seed, 1));
  for (uint32_t i = 0; i < tasks_.size(); ++i) tasks_[i].rng = Rng(MixSeed(seed, 2), i);
}

bool RunQueueRecorder::GroupWindow(uint32_t window) const {
  return Rng(MixSeed(seed_, 3), window).Uniform() < law_.group_share;
}

const RawTransition* RunQueueRecorder::Next() {
  current_ = machine_.Next();
  Task& task = tasks_[current_];
  const RawState event = machine_.Observe(current_);
  const bool goes_on = task.seen;
  if (goes_on) {
    transition_.state = task.event;
    transition_.next = event;
    transition_.action = task.action;
    transition_.reward = static_cast<int64_t>(task.event.features[kSlotWaitUs]) -
                         static_cast<int64_t>(event.features[kSlotWaitUs]);
    transition_.behavior = task.behavior;
    transition_.applied = task.applied;
    transition_.applied.in_force =
        event.features[kSlotStaticPrio] == static_cast<uint64_t>(120 + task.applied.nice) &&
        event.features[kSlotSliceNs] == task.applied.slice_ns;
    transition_.comm = machine_.load().tasks[current_].comm;
  } else {
    // Until something is set, what is in force is the task's own.
    const KernelSetting own = machine_.setting(current_);
    task.applied = {.known = true,
                    .in_force = true,
                    .nice = own.nice,
                    .slice_ns = static_cast<uint64_t>(own.slice_ns),
                    .at_ns = event.timestamp_ns};
    task.seen = true;
  }
  task.event = event;
  task.standing = task.action;
  Draw(task);
  return goes_on ? &transition_ : nullptr;
}

void RunQueueRecorder::Draw(Task& task) {
  // One pair of numbers an event, used or not: the luck of two copies stays the same.
  const bool lot = task.rng.Uniform() < law_.p_draw;
  const double drawn = DrawAction(task.rng, law_.p_zero);
  task.delay_ns = static_cast<int64_t>(task.rng.Uniform() * law_.delay_us * 1e3);
  const auto window =
      static_cast<uint32_t>(static_cast<double>(task.event.timestamp_ns) / 1e9 / law_.window_s);
  const bool group = !law_.off && GroupWindow(window);
  task.behavior = {.known = true,
                   .drawn = false,
                   .mode = group ? DrawMode::kGroup : DrawMode::kTask,
                   .window = window,
                   .p_draw = law_.off ? 0.0 : law_.p_draw,
                   .p_zero = law_.p_zero};
  if (pilot_) {
    if (const auto action = pilot_(current_, task.event, task.standing)) SetAction(*action);
  } else if (law_.off) {
    return;
  } else if (!group && lot) {
    task.behavior.drawn = true;
    SetAction(drawn);
  } else if (group && task.window != window + 1) {
    const std::string& comm = machine_.load().tasks[current_].comm;
    uint64_t name = 14695981039346656037ULL;  // FNV-1a: the same on every machine
    for (const char c : comm) name = (name ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    Rng rng(MixSeed(MixSeed(seed_, 4), name), window);
    task.window = window + 1;
    task.behavior.drawn = true;
    SetAction(DrawAction(rng, law_.p_zero));
  }
}

void RunQueueRecorder::SetAction(double action) {
  Task& task = tasks_[current_];
  const KernelSetting setting = SettingOf(action, machine_.load().tasks[current_].nice);
  task.action = action;
  task.applied = {.known = true,
                  .in_force = false,
                  .nice = setting.nice,
                  .slice_ns = static_cast<uint64_t>(setting.slice_ns),
                  .at_ns = task.event.timestamp_ns + static_cast<uint64_t>(task.delay_ns)};
  machine_.Set(current_, setting, task.delay_ns);
}

void RunQueueRecorder::Decide(double action) { SetAction(action); }

std::vector<RawTransition> RecordRunQueue(const std::shared_ptr<const RunQueueLoad>& load,
                                          uint64_t seed, double seconds, const ExploreLaw& law) {
  RunQueueRecorder recorder(load, seed, law);
  const int64_t begin = recorder.machine().now_ns() + static_cast<int64_t>(kWarmUpSeconds * 1e9);
  const int64_t end = begin + static_cast<int64_t>(seconds * 1e9);
  std::vector<RawTransition> rows;
  while (recorder.machine().now_ns() < end) {
    const RawTransition* row = recorder.Next();
    if (row != nullptr && static_cast<int64_t>(row->state.timestamp_ns) >= begin) {
      rows.push_back(*row);
    }
  }
  return rows;
}

}  // namespace kernelx
