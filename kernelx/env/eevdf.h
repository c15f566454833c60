// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The run queue of one CPU under EEVDF, as Linux 6.12 and later have it: weighted virtual time,
// lag kept over sleep, eligibility, virtual deadlines, slice protection, delayed dequeue. A queue
// holds no clock and takes no decision on its own; `RunQueue` drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kernelx {

/// Load weight of a nice value, clamped to -20..19: the kernel's table, 1024 at 0.
uint32_t NiceWeight(int nice);

/// What an action becomes on a kernel (docs/runqueue.md).
struct KernelSetting {
  int nice = 0;
  int64_t slice_ns = 1'400'000;
  friend bool operator==(const KernelSetting&, const KernelSetting&) = default;
};

/// nice = own_nice + round(10 a), slice = 1.4 ms x exp(2.64 a) within 0.1 .. 20 ms, for `action`
/// clamped to [-1, 1].
KernelSetting SettingOf(double action, int own_nice = 0);

/// A task as its run queue sees it. Virtual times are ns at weight 1024.
struct EevdfEntity {
  uint32_t id = 0;
  uint32_t weight = 1024;
  int64_t slice_ns = 1'400'000;
  int64_t vruntime = 0;
  int64_t deadline = 0;         ///< relative to vruntime while off the queue, if `has_deadline`
  int64_t lag = 0;              ///< average - vruntime when it left its queue
  int64_t protected_until = 0;  ///< vruntime up to which a running task is not preempted
  bool has_deadline = false;    ///< carries what was left of its slice to its next place
  bool delayed = false;         ///< asleep, yet queued until its debt is paid
};

class EevdfQueue {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  [[nodiscard]] size_t size() const { return entities_.size(); }
  [[nodiscard]] uint32_t running() const { return running_; }
  [[nodiscard]] const std::vector<EevdfEntity>& entities() const { return entities_; }
  [[nodiscard]] const EevdfEntity& Find(uint32_t id) const { return entities_[IndexOf(id)]; }
  /// Entities that could run now: all but the delayed.
  [[nodiscard]] size_t runnable() const { return entities_.size() - delayed_; }
  /// Sum of the weights of all entities.
  [[nodiscard]] int64_t weight() const { return weight_; }
  /// Weighted mean of the virtual times, rounded down.
  [[nodiscard]] int64_t Average() const;
  /// Did the entity get no more than its share, so that it may be picked?
  [[nodiscard]] bool Eligible(uint32_t id) const;

  /// Places an entity so that its lag is what it was, and adds it.
  void Enqueue(EevdfEntity entity);
  /// Takes an entity off, with its lag; `keep_deadline` when it moves on and does not sleep.
  EevdfEntity Remove(uint32_t id, bool keep_deadline = false);
  /// The running entity goes to sleep. True: it owes time and stays on, delayed, until it is picked
  /// or woken. False: remove it.
  bool DelaySleep();
  /// Wakes a delayed entity; what it paid back while asleep is not paid out (lag at most 0).
  void WakeDelayed(uint32_t id);
  /// Another weight and slice from now on; lag and what is left of the slice are rescaled.
  void Reweigh(uint32_t id, uint32_t weight, int64_t slice_ns);

  /// The running entity used `ns` of CPU. True when it should give way: its slice is used up, or it
  /// is no longer protected, and others wait.
  bool Charge(int64_t ns);
  /// Should the running entity give way to `id`, just enqueued? A shorter slice breaks protection.
  bool Preempts(uint32_t id);
  /// The entity to run next: the running one while protected, else the earliest deadline among the
  /// eligible. kNone when empty. May answer a delayed one, which the caller removes.
  [[nodiscard]] uint32_t Pick() const { return Pick(true); }
  /// `id` (or kNone) starts to run.
  void Run(uint32_t id);

 private:
  [[nodiscard]] size_t IndexOf(uint32_t id) const;
  [[nodiscard]] uint32_t Pick(bool protect) const;
  /// Sum of weight x (vruntime - base).
  [[nodiscard]] int64_t WeightedSum(int64_t base) const;
  void Place(EevdfEntity& entity) const;

  std::vector<EevdfEntity> entities_;
  int64_t weight_ = 0;
  int64_t empty_average_ = 0;  // virtual time of the queue when its last entity left
  size_t delayed_ = 0;
  uint32_t running_ = kNone;
};

}  // namespace kernelx
