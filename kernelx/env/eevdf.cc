// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/eevdf.h"

#include <algorithm>
#include <cmath>

namespace kernelx {
namespace {

constexpr int64_t kTickNs = 4'000'000;
constexpr int64_t kUnitWeight = 1024;

/// Of nice -20 to 19 (sched_prio_to_weight).
constexpr uint32_t kWeights[40] = {
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906,  3121,  2501,  1991,  1586,  1277,  1024,  820,   655,   526,   423,  335,  272,  215,
    172,   137,   110,   87,    70,    56,    45,    36,    29,    23,    18,   15};

/// CPU time as virtual time.
int64_t Virtual(int64_t ns, uint32_t weight) {
  return weight == kUnitWeight ? ns : ns * kUnitWeight / weight;
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

uint32_t NiceWeight(int nice) { return kWeights[std::clamp(nice, -20, 19) + 20]; }

KernelSetting SettingOf(double action, int own_nice) {
  const double a = std::clamp(action, -1.0, 1.0);
  const double slice_ns = std::clamp(1.4e6 * std::exp(2.64 * a), 0.1e6, 20e6);
  return {.nice = std::clamp(own_nice + static_cast<int>(std::lround(10.0 * a)), -20, 19),
          .slice_ns = std::llround(slice_ns)};
}

size_t EevdfQueue::IndexOf(uint32_t id) const {
  size_t i = 0;
  while (entities_[i].id != id) ++i;
  return i;
}

int64_t EevdfQueue::WeightedSum(int64_t base) const {
  int64_t sum = 0;
  for (const EevdfEntity& e : entities_) sum += e.weight * (e.vruntime - base);
  return sum;
}

int64_t EevdfQueue::Average() const {
  if (entities_.empty()) return empty_average_;
  const int64_t base = entities_.front().vruntime;
  return base + FloorDivide(WeightedSum(base), weight_);
}

bool EevdfQueue::Eligible(uint32_t id) const {
  const int64_t base = entities_.front().vruntime;
  return WeightedSum(base) >= (Find(id).vruntime - base) * weight_;
}

void EevdfQueue::Place(EevdfEntity& entity) const {
  int64_t lag = 0;
  if (!entities_.empty() && entity.lag != 0) {
    // Joining moves the average towards the entity; scale so that the lag is right afterwards.
    lag = entity.lag * (weight_ + entity.weight) / weight_;
  }
  entity.vruntime = Average() - lag;
  if (entity.has_deadline) {
    entity.deadline += entity.vruntime;
    entity.has_deadline = false;
  } else {
    entity.deadline = entity.vruntime + Virtual(entity.slice_ns, entity.weight);
  }
}

void EevdfQueue::Enqueue(EevdfEntity entity) {
  Place(entity);
  weight_ += entity.weight;
  entities_.push_back(entity);
}

EevdfEntity EevdfQueue::Remove(uint32_t id, bool keep_deadline) {
  const int64_t average = Average();
  const size_t index = IndexOf(id);
  EevdfEntity entity = entities_[index];
  const int64_t limit = Virtual(std::max(2 * entity.slice_ns, kTickNs), entity.weight);
  entity.lag = std::clamp(average - entity.vruntime, -limit, limit);
  if (entity.delayed) {
    entity.lag = std::min<int64_t>(entity.lag, 0);
    entity.delayed = false;
    --delayed_;
  }
  entity.has_deadline = keep_deadline;
  if (keep_deadline) entity.deadline -= entity.vruntime;
  entities_[index] = entities_.back();
  entities_.pop_back();
  weight_ -= entity.weight;
  if (entities_.empty()) empty_average_ = average;
  if (running_ == id) running_ = kNone;
  return entity;
}

bool EevdfQueue::DelaySleep() {
  if (Eligible(running_)) return false;
  entities_[IndexOf(running_)].delayed = true;
  ++delayed_;
  running_ = kNone;
  return true;
}

void EevdfQueue::WakeDelayed(uint32_t id) {
  EevdfEntity& entity = entities_[IndexOf(id)];
  entity.delayed = false;
  --delayed_;
  if (Average() <= entity.vruntime) return;
  EevdfEntity back = Remove(id, true);
  back.lag = 0;
  Enqueue(back);
}

void EevdfQueue::Reweigh(uint32_t id, uint32_t weight, int64_t slice_ns) {
  EevdfEntity& at = entities_[IndexOf(id)];
  at.slice_ns = slice_ns;
  if (at.weight == weight) return;
  const bool runs = running_ == id;
  const bool delayed = at.delayed;
  const int64_t left = at.protected_until - at.vruntime;
  EevdfEntity entity = Remove(id, true);
  entity.lag = entity.lag * entity.weight / weight;
  entity.deadline = entity.deadline * entity.weight / weight;
  const int64_t protected_for = left * entity.weight / weight;
  entity.weight = weight;
  Enqueue(entity);
  EevdfEntity& placed = entities_.back();
  placed.protected_until = placed.vruntime + protected_for;
  placed.delayed = delayed;
  delayed_ += delayed ? 1 : 0;
  if (runs) running_ = id;
}

bool EevdfQueue::Charge(int64_t ns) {
  EevdfEntity& entity = entities_[IndexOf(running_)];
  entity.vruntime += Virtual(ns, entity.weight);
  const bool slice_used = entity.vruntime >= entity.deadline;
  if (slice_used) entity.deadline = entity.vruntime + Virtual(entity.slice_ns, entity.weight);
  return entities_.size() > 1 && (slice_used || entity.vruntime >= entity.protected_until);
}

bool EevdfQueue::Preempts(uint32_t id) {
  EevdfEntity& current = entities_[IndexOf(running_)];
  const bool shorter = Find(id).slice_ns < current.slice_ns && Eligible(id);
  if (Pick(!shorter) != id) return false;
  if (shorter) current.protected_until = current.vruntime;
  return true;
}

uint32_t EevdfQueue::Pick(bool protect) const {
  if (entities_.empty()) return kNone;
  if (entities_.size() == 1) return entities_.front().id;
  const int64_t base = entities_.front().vruntime;
  const int64_t sum = WeightedSum(base);
  const EevdfEntity* best = nullptr;
  for (const EevdfEntity& e : entities_) {
    if (sum < (e.vruntime - base) * weight_) continue;
    if (e.id == running_ && protect && e.vruntime < e.protected_until) return e.id;
    if (best == nullptr || e.deadline < best->deadline ||
        (e.deadline == best->deadline && e.id < best->id)) {
      best = &e;
    }
  }
  return best->id;  // one is always eligible: not all are above their mean
}

void EevdfQueue::Run(uint32_t id) {
  running_ = id;
  if (id == kNone) return;
  int64_t slice_ns = INT64_MAX;
  for (const EevdfEntity& e : entities_) slice_ns = std::min(slice_ns, e.slice_ns);
  EevdfEntity& entity = entities_[IndexOf(id)];
  entity.protected_until = entity.deadline;
  if (slice_ns != entity.slice_ns) {
    entity.protected_until =
        std::min(entity.deadline, entity.vruntime + Virtual(slice_ns, entity.weight));
  }
}

}  // namespace kernelx
