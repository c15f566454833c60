// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/record/tracefs_sensor.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <optional>
#include <set>
#include <unordered_map>

#include "kernelx/ground/error.h"
#include "kernelx/record/proc_task.h"
#include "kernelx/record/tracefs.h"

namespace kernelx {
namespace {

constexpr uint8_t kInHardirq = 0x08;  // of an event's common_flags
constexpr uint8_t kInSoftirq = 0x10;
constexpr int64_t kSleeping = 0xff;  // prev_state without the mark of a preemption

enum class Kind : uint8_t { kLost, kSwitch, kWaking, kNew, kFork, kExit, kHrtimer, kTimer };

/// A trace event, out of the kernel's layout.
struct Record {
  uint64_t at_ns = 0;
  uint64_t count = 0;  ///< lost events
  int64_t state = 0;   ///< of the task switched out
  int32_t cpu = 0;
  int32_t current = 0;  ///< task running when it happened
  int32_t pid = 0;      ///< switched in, woken, forked, gone
  int32_t prio = 0, previous_prio = 0;
  Kind kind = Kind::kLost;
  uint8_t flags = 0;
  bool entry = false;  ///< of a timer's handler
  std::array<char, 16> comm{};
};

/// The fields of the events, and their way into a `Record`.
class Decoder {
 public:
  explicit Decoder(TraceInstance& trace)
      : switch_(trace.Enable("sched/sched_switch")),
        waking_(trace.Enable("sched/sched_waking")),
        new_(trace.Enable("sched/sched_wakeup_new")),
        fork_(trace.Enable("sched/sched_process_fork")),
        exit_(trace.Enable("sched/sched_process_exit")),
        hrtimer_entry_(trace.Enable("timer/hrtimer_expire_entry")),
        hrtimer_exit_(trace.Enable("timer/hrtimer_expire_exit")),
        timer_entry_(trace.Enable("timer/timer_expire_entry")),
        timer_exit_(trace.Enable("timer/timer_expire_exit")),
        prev_pid_(switch_.at("prev_pid")),
        prev_prio_(switch_.at("prev_prio")),
        prev_state_(switch_.at("prev_state")),
        next_pid_(switch_.at("next_pid")),
        next_prio_(switch_.at("next_prio")),
        next_comm_(switch_.at("next_comm")),
        woken_pid_(waking_.at("pid")),
        new_pid_(new_.at("pid")),
        child_pid_(fork_.at("child_pid")),
        gone_pid_(exit_.at("pid")),
        flags_(switch_.at("common_flags")),
        current_(switch_.at("common_pid")) {}

  /// False for an event that is none of ours.
  bool Decode(std::span<const std::byte> from, Record& to) const {
    if (from.size() < 8) return false;
    const auto id = Get<uint16_t>(from, 0);
    to.flags = Get<uint8_t>(from, flags_);
    to.current = Get<int32_t>(from, current_);
    if (id == switch_.id) {
      to.kind = Kind::kSwitch;
      to.current = Get<int32_t>(from, prev_pid_);
      to.previous_prio = Get<int32_t>(from, prev_prio_);
      to.state = Get<int64_t>(from, prev_state_);
      to.pid = Get<int32_t>(from, next_pid_);
      to.prio = Get<int32_t>(from, next_prio_);
      to.comm = Get<std::array<char, 16>>(from, next_comm_);
      to.comm.back() = '\0';
    } else if (id == waking_.id) {
      to.kind = Kind::kWaking;
      to.pid = Get<int32_t>(from, woken_pid_);
    } else if (id == new_.id) {
      to.kind = Kind::kNew;
      to.pid = Get<int32_t>(from, new_pid_);
    } else if (id == fork_.id) {
      to.kind = Kind::kFork;
      to.pid = Get<int32_t>(from, child_pid_);
    } else if (id == exit_.id) {
      to.kind = Kind::kExit;
      to.pid = Get<int32_t>(from, gone_pid_);
    } else if (id == hrtimer_entry_.id || id == hrtimer_exit_.id) {
      to.kind = Kind::kHrtimer;
      to.entry = id == hrtimer_entry_.id;
    } else if (id == timer_entry_.id || id == timer_exit_.id) {
      to.kind = Kind::kTimer;
      to.entry = id == timer_entry_.id;
    } else {
      return false;
    }
    return true;
  }

 private:
  template <typename T>
  static T Get(std::span<const std::byte> from, size_t at) {
    T value{};
    if (at + sizeof(T) <= from.size()) std::memcpy(&value, from.data() + at, sizeof(T));
    return value;
  }

  TraceFormat switch_, waking_, new_, fork_, exit_;
  TraceFormat hrtimer_entry_, hrtimer_exit_, timer_entry_, timer_exit_;
  size_t prev_pid_, prev_prio_, prev_state_, next_pid_, next_prio_, next_comm_;
  size_t woken_pid_, new_pid_, child_pid_, gone_pid_, flags_, current_;
};

/// Own bookkeeping of a task; times are 0 while not known.
struct Task {
  bool read = false;  ///< /proc was asked
  bool exited = false;
  bool in_tree = false;
  bool woken_early = false;  ///< while it still ran, on its way to sleep
  ProcTask proc = {};
  uint64_t forked_ns = 0;
  uint64_t running_since_ns = 0;
  uint64_t runnable_since_ns = 0;
  uint64_t slept_since_ns = 0;
  uint64_t sleep_ns = 0;
  uint64_t exec_ns = 0;
  uint64_t exec_at_wake_ns = 0;
  uint64_t voluntary = 0, involuntary = 0, migrations = 0;
  int32_t cpu = -1;
  int32_t waker = 0;
  WokenBy woken_by = WokenBy::kNobody;
};

struct CpuState {
  bool hrtimer = false, timer = false;
  uint64_t switches = 0;
};

uint64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

/// The group's path below the mount, without a slash at its end.
std::string CgroupBelowMount(std::string path) {
  const std::string mount = Cgroup2Mount();
  if (!mount.empty() && path.starts_with(mount)) path = path.substr(mount.size());
  while (path.ends_with('/')) path.pop_back();
  if (!path.starts_with('/')) path.insert(0, "/");
  struct stat status {};
  if (mount.empty() || stat((mount + path).c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("cgroup '{}': no such group in the v2 hierarchy; name a folder below "
                            "the cgroup2 mount",
                            path));
  }
  return path;
}

class TracefsSensor final : public Sensor {
 public:
  explicit TracefsSensor(const SensorOptions& options)
      : target_(options.target),
        ignored_(options.ignored_tgids.begin(), options.ignored_tgids.end()),
        processes_(target_.pids.begin(), target_.pids.end()),
        trace_(options.buffer_bytes),
        decoder_(trace_) {
    for (std::string& path : target_.cgroups) path = CgroupBelowMount(path);
    for (const int32_t root : target_.tree_roots) AddTree(root);
    trace_.Open();
  }

  [[nodiscard]] std::string rung() const override { return "tracefs"; }

  void Drain(SensorSink& sink) override {
    // A ring read late may hold what follows from something in a ring read early, a moment later:
    // what happened since now waits for the next call.
    const uint64_t now = MonotonicNs();
    for (size_t i = 0; i < trace_.cpus(); ++i) ReadRing(i, now);
    std::stable_sort(records_.begin(), records_.end(),
                     [](const Record& a, const Record& b) { return a.at_ns < b.at_ns; });
    const auto end = std::find_if(records_.begin(), records_.end(),
                                  [&](const Record& record) { return record.at_ns > now; });
    for (auto record = records_.begin(); record != end; ++record) Take(*record, sink);
    records_.erase(records_.begin(), end);
  }

  [[nodiscard]] SensorStats stats() const override { return stats_; }

  void AddTree(int32_t root_tgid) override {
    if (target_.tree_roots.empty()) {
      throw Error(ErrorCode::kState, "Sensor::AddTree: opened without a process tree to follow");
    }
    for (const int32_t tgid : TreeOf(root_tgid)) tree_.insert(tgid);
    for (auto& [pid, task] : tasks_) {
      if (task.read && tree_.contains(task.proc.tgid)) task.in_tree = true;
    }
  }

 private:
  void ReadRing(size_t index, uint64_t now) {
    for (bool more = true; more;) {
      const std::span<const std::byte> page = trace_.NextPage(index);
      if (page.empty()) return;
      const size_t first = records_.size();
      const uint64_t lost = ReadTracePage(page, [&](uint64_t at, std::span<const std::byte> event) {
        Record record;
        record.at_ns = at;
        record.cpu = trace_.cpu(index);
        if (decoder_.Decode(event, record)) records_.push_back(record);
        more = at <= now;
      });
      if (lost == 0) continue;
      Record gap;
      gap.count = lost;
      gap.at_ns = first < records_.size() ? records_[first].at_ns : now;
      records_.insert(records_.begin() + static_cast<ptrdiff_t>(first), gap);
    }
  }

  void Take(const Record& record, SensorSink& sink) {
    switch (record.kind) {
      case Kind::kLost:
        Forget(record.count, sink);
        break;
      case Kind::kSwitch:
        if (record.current != 0) SwitchOut(record);
        if (record.pid != 0) SwitchIn(record, sink);
        ++Cpu(record.cpu).switches;
        break;
      case Kind::kWaking:
      case Kind::kNew:
        Wake(record);
        break;
      case Kind::kFork:
        Fork(record);
        break;
      case Kind::kExit:
        Exit(record, sink);
        break;
      case Kind::kHrtimer:
        Cpu(record.cpu).hrtimer = record.entry;
        break;
      case Kind::kTimer:
        Cpu(record.cpu).timer = record.entry;
        break;
    }
  }

  CpuState& Cpu(int32_t cpu) {
    if (cpus_.size() <= static_cast<size_t>(cpu)) cpus_.resize(static_cast<size_t>(cpu) + 1);
    return cpus_[static_cast<size_t>(cpu)];
  }

  void Forget(uint64_t lost, SensorSink& sink) {
    stats_.dropped += lost;
    for (auto& [pid, task] : tasks_) {
      task.running_since_ns = task.runnable_since_ns = task.slept_since_ns = task.sleep_ns = 0;
      task.woken_early = false;
    }
    for (CpuState& cpu : cpus_) cpu.hrtimer = cpu.timer = false;
    sink.OnLost(lost);
  }

  void SwitchOut(const Record& record) {
    const auto found = tasks_.find(record.current);
    const bool sleeps = (record.state & kSleeping) != 0;
    if (found != tasks_.end() && found->second.exited && sleeps) {
      tasks_.erase(found);
      return;
    }
    Task& task = tasks_[record.current];
    if (task.running_since_ns != 0) task.exec_ns += record.at_ns - task.running_since_ns;
    task.running_since_ns = 0;
    if (sleeps) {
      ++task.voluntary;
      task.slept_since_ns = record.at_ns;
      task.runnable_since_ns = task.woken_early ? record.at_ns : 0;
    } else {
      ++task.involuntary;
      task.runnable_since_ns = record.at_ns;
      task.woken_by = WokenBy::kNobody;
      task.waker = 0;
      task.sleep_ns = 0;
    }
    task.woken_early = false;
  }

  void Wake(const Record& record) {
    if (record.kind == Kind::kNew && tasks_.contains(record.pid) && tasks_[record.pid].exited) {
      tasks_.erase(record.pid);  // its last switch was lost, and the pid is used again
    }
    Task& task = tasks_[record.pid];
    const CpuState& cpu = Cpu(record.cpu);
    task.waker = 0;
    if (record.kind == Kind::kNew) {
      task.woken_by = WokenBy::kNew;
      task.waker = record.current;
    } else if (cpu.hrtimer) {
      task.woken_by = WokenBy::kTimer;
    } else if ((record.flags & kInHardirq) != 0) {
      task.woken_by = WokenBy::kHardirq;
    } else if (cpu.timer) {
      task.woken_by = WokenBy::kTimer;
    } else if ((record.flags & kInSoftirq) != 0) {
      task.woken_by = WokenBy::kSoftirq;
    } else {
      task.woken_by = WokenBy::kTask;
      task.waker = record.current;
    }
    task.sleep_ns = task.slept_since_ns != 0 ? record.at_ns - task.slept_since_ns : 0;
    task.runnable_since_ns = record.at_ns;
    task.exec_at_wake_ns = task.exec_ns;
    task.woken_early = task.running_since_ns != 0;
  }

  void Fork(const Record& record) {
    Task child;
    child.forked_ns = record.at_ns;
    if (!target_.tree_roots.empty()) {
      Task& parent = tasks_[record.current];
      Identify(record.current, parent);
      child.in_tree = parent.in_tree;
    }
    tasks_[record.pid] = child;
  }

  void Exit(const Record& record, SensorSink& sink) {
    Task& task = tasks_[record.pid];
    task.exited = true;
    if (!task.proc.kernel_thread) sink.OnExit(record.pid, task.proc.start_ns);
    if (task.read && task.proc.tgid == record.pid) tree_.erase(record.pid);
  }

  /// Asks /proc, once per task.
  void Identify(int32_t pid, Task& task) {
    if (task.read) return;
    task.read = true;
    if (const auto found = ReadProcTask(pid)) {
      task.proc = *found;
      if (task.in_tree) tree_.insert(task.proc.tgid);
      task.in_tree = task.in_tree || tree_.contains(task.proc.tgid);
    } else {
      task.proc.tgid = pid;
      task.proc.start_ns = task.forked_ns;
    }
  }

  [[nodiscard]] bool BelowTargetCgroup(const std::string& path) const {
    return std::any_of(target_.cgroups.begin(), target_.cgroups.end(), [&](const auto& group) {
      return group == "/" || path == group || path.starts_with(group + "/");
    });
  }

  bool IsTarget(int32_t pid, Task& task, std::string_view comm) {
    const bool named =
        std::find(target_.comms.begin(), target_.comms.end(), comm) != target_.comms.end();
    const bool by_name_only = !target_.everything() && target_.pids.empty() &&
                              target_.tree_roots.empty() && target_.cgroups.empty() &&
                              target_.uids.empty();
    if (by_name_only && !named) return false;
    Identify(pid, task);
    const ProcTask& proc = task.proc;
    if (proc.kernel_thread && !target_.kernel_threads) return false;
    if (ignored_.contains(proc.tgid)) return false;
    if (named || target_.everything() || task.in_tree || processes_.contains(proc.tgid)) {
      return true;
    }
    if (std::find(target_.uids.begin(), target_.uids.end(), proc.uid) != target_.uids.end()) {
      return true;
    }
    return !target_.cgroups.empty() && BelowTargetCgroup(proc.cgroup);
  }

  void SwitchIn(const Record& record, SensorSink& sink) {
    Task& task = tasks_[record.pid];
    if (task.cpu >= 0 && task.cpu != record.cpu) ++task.migrations;
    task.cpu = record.cpu;
    if (task.exited) return;
    if (IsTarget(record.pid, task, record.comm.data())) {
      sink.OnEvent(Describe(record, task));
      ++stats_.events;
    } else {
      ++stats_.filtered;
    }
    task.running_since_ns = record.at_ns;
    task.runnable_since_ns = 0;
  }

  SchedEvent Describe(const Record& record, const Task& task) {
    SchedEvent event;
    auto& f = event.state.features;
    const auto prio = static_cast<uint64_t>(record.prio);
    f[kSlotCpu] = static_cast<uint64_t>(record.cpu);
    f[kSlotPrio] = f[kSlotStaticPrio] = f[kSlotNormalPrio] = prio;
    f[kSlotExecNs] = task.exec_ns;
    f[kSlotMigrations] = task.migrations;
    f[kSlotWokenBy] = static_cast<uint64_t>(task.woken_by);
    f[kSlotWakerPid] = static_cast<uint64_t>(task.waker);
    f[kSlotSleepUs] = task.sleep_ns / 1000;
    f[kSlotSwitches] = Cpu(record.cpu).switches;
    f[kSlotVoluntary] = task.voluntary;
    f[kSlotInvoluntary] = task.involuntary;
    f[kSlotPreviousPrio] = static_cast<uint64_t>(record.previous_prio);
    f[kSlotPreempted] = record.state != 0 && (record.state & kSleeping) == 0;
    f[kSlotTgid] = static_cast<uint64_t>(task.proc.tgid);
    f[kSlotCpuSinceWakeNs] = task.exec_ns - task.exec_at_wake_ns;
    f[kSlotStartNs] = task.proc.start_ns;
    f[kSlotWaitUs] =
        task.runnable_since_ns != 0 ? (record.at_ns - task.runnable_since_ns) / 1000 : 0;
    event.state.timestamp_ns = record.at_ns;
    event.state.pid = record.pid;
    event.state.cpu = record.cpu;
    event.comm = record.comm;
    event.cgroup_id = task.proc.cgroup_id;
    event.session = task.proc.session;
    event.parent_tgid = task.proc.parent_tgid;
    event.uid = task.proc.uid;
    event.sched_class = task.proc.sched_class;
    if (record.prio < 100 && event.fair()) event.sched_class = record.prio < 0 ? 6 : 1;
    return event;
  }

  TargetSpec target_;
  std::set<int32_t> ignored_;
  std::set<int32_t> processes_;
  std::set<int32_t> tree_;
  TraceInstance trace_;
  Decoder decoder_;
  std::vector<Record> records_;
  std::unordered_map<int32_t, Task> tasks_;
  std::vector<CpuState> cpus_;
  SensorStats stats_;
};

}  // namespace

std::unique_ptr<Sensor> OpenTracefsSensor(const SensorOptions& options) {
  return std::make_unique<TracefsSensor>(options);
}

}  // namespace kernelx
