// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/kxr_rows.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace kernelx {
namespace {

constexpr size_t kChunk = 4096;
constexpr uint64_t kStaticPrioOfNice0 = 120;

struct TaskKey {
  int32_t pid;
  uint64_t start_ns;
  friend bool operator==(const TaskKey&, const TaskKey&) = default;
};
struct TaskKeyHash {
  size_t operator()(const TaskKey& key) const {
    return (key.start_ns ^ (static_cast<uint64_t>(static_cast<uint32_t>(key.pid)) << 40)) *
           0x9E3779B97F4A7C15;
  }
};

/// Puts events and nudges together.
class Pairing final : public KxrVisitor {
 public:
  explicit Pairing(const std::function<void(std::span<RawTransition>)>& take) : take_(take) {
    rows_.reserve(kChunk);
  }

  void OnEvent(const SchedEvent& event) override {
    Task& task = tasks_[{event.state.pid, event.state.features[kSlotStartNs]}];
    if (task.generation == generation_) Emit(task, event);
    task.generation = generation_;
    task.last = event.state;
    task.drawn = false;
  }

  void OnNudge(const NudgeRecord& nudge) override {
    law_ = {.known = true,
            .drawn = false,
            .mode = nudge.mode == 0 ? DrawMode::kTask : DrawMode::kGroup,
            .window = nudge.window,
            .p_draw = nudge.p_draw,
            .p_zero = nudge.p_zero};
    explored_ = explored_ || nudge.p_draw > 0.0;
    const auto found = tasks_.find({nudge.pid, nudge.start_ns});
    if (found == tasks_.end()) return;
    Task& task = found->second;
    task.action = nudge.action;
    task.drawn = nudge.drawn && nudge.decided_ns == task.last.timestamp_ns;
    task.applied = {.known = true,
                    .in_force = false,
                    .nice = nudge.nice,
                    .slice_ns = nudge.slice_ns,
                    .at_ns = nudge.applied_ns};
    task.accepted = nudge.applied;
  }

  void OnGap(const GapRecord& /*gap*/) override { ++generation_; }

  void Finish() {
    if (!rows_.empty()) take_(rows_);
    rows_.clear();
  }

 private:
  struct Task {
    RawState last;
    uint64_t generation = 0;  ///< of gaps, when `last` was seen; 0: never
    double action = 0.0;
    bool drawn = false;
    bool accepted = false;
    Applied applied;
  };

  void Emit(const Task& task, const SchedEvent& event) {
    RawTransition& row = rows_.emplace_back();
    row.state = task.last;
    row.next = event.state;
    row.action = task.action;
    row.reward = static_cast<int64_t>(task.last.features[kSlotWaitUs]) -
                 static_cast<int64_t>(event.state.features[kSlotWaitUs]);
    row.behavior = explored_ ? law_ : Behavior{};
    row.behavior.drawn = task.drawn;
    row.applied = task.applied;
    row.applied.in_force = task.applied.known && task.accepted && Shows(event, task.applied);
    row.comm = event.name();
    if (rows_.size() == kChunk) Finish();
  }

  static bool Shows(const SchedEvent& event, const Applied& applied) {
    const auto& f = event.state.features;
    return f[kSlotStaticPrio] ==
               static_cast<uint64_t>(static_cast<int64_t>(kStaticPrioOfNice0) + applied.nice) &&
           (applied.slice_ns == 0 || f[kSlotSliceNs] == applied.slice_ns);
  }

  const std::function<void(std::span<RawTransition>)>& take_;
  std::vector<RawTransition> rows_;
  std::unordered_map<TaskKey, Task, TaskKeyHash> tasks_;
  Behavior law_;
  bool explored_ = false;
  uint64_t generation_ = 1;
};

}  // namespace

KxrStats ReadKxrRows(const std::string& path,
                     const std::function<void(std::span<RawTransition>)>& take) {
  Pairing pairing(take);
  const KxrStats stats = ReadKxr(path, pairing);
  pairing.Finish();
  return stats;
}

}  // namespace kernelx
