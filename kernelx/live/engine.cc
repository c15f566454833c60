// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/live/engine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kSweepNs = 500'000'000;
constexpr int kStaticPrioOfNice0 = 120;

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecondNs + static_cast<uint64_t>(now.tv_nsec);
}

double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The slice of a task that was given none: what reading this process back says.
uint64_t DefaultSliceNs() {
  const auto own = ReadSched(0);
  return own ? own->slice_ns : 0;
}

Standing Decided(const Decision& decision, const SchedEvent& event) {
  return {.decision = decision, .decided = true, .decided_ns = event.state.timestamp_ns};
}

int NiceIn(const SchedEvent& event) {
  return static_cast<int>(event.state.features[kSlotStaticPrio]) - kStaticPrioOfNice0;
}

}  // namespace

struct Engine::Task {
  Standing standing;
  JournalEntry* entry = nullptr;  ///< null: nothing of ours is on it
  int own_nice = 0;
  uint64_t own_slice_ns = 0;  ///< 0: the default
  int nice = 0;               ///< as read back after the last nudge
  uint64_t slice_ns = 0;
  uint64_t changed_ns = 0;  ///< after the last nudge
  uint64_t last_event_ns = 0;
  bool known = false;  ///< own values were read
  bool hands_off = false;
  bool unchecked = false;  ///< nudged, and not seen since
  int32_t session = 0;
  int32_t tgid = 0;
  std::array<char, 16> comm{};
  std::unique_ptr<Histogram> waits;  ///< since the last view
  uint64_t events = 0;
  uint64_t exec_ns = 0, viewed_exec_ns = 0;
};

/// The sensor's calls, handed on.
class Engine::Intake final : public SensorSink {
 public:
  explicit Intake(Engine& engine) : engine_(engine) {}
  void OnEvent(const SchedEvent& event) override { engine_.Observe(event); }
  void OnLost(uint64_t count) override {
    // No history goes on across lost events; what stands on the tasks does.
    for (const auto& [id, task] : engine_.tasks_) engine_.extractor_.Forget(id);
    if (engine_.sink_ != nullptr) engine_.sink_->OnLost(count);
  }
  void OnExit(int32_t pid, uint64_t start_ns) override {
    const auto found = engine_.tasks_.find({pid, start_ns});
    if (found == engine_.tasks_.end()) return;
    if (found->second.entry != nullptr) engine_.journal_->Remove(*found->second.entry);
    engine_.tasks_.erase(found);
    engine_.extractor_.Gone({pid, start_ns});
  }

 private:
  Engine& engine_;
};

Engine::Engine(const EngineOptions& options, std::unique_ptr<Decider> decider, EngineSink* sink)
    : options_(options),
      decider_(std::move(decider)),
      sink_(sink),
      extractor_(decider_->features()),
      governor_(options.governor),
      values_(decider_->features().size()),
      default_slice_ns_(DefaultSliceNs()),
      begin_ns_(NowNs()),
      swept_ns_(begin_ns_),
      viewed_ns_(begin_ns_) {
  if (!options_.dry_run) {
    const std::string folder = RunFolder();
    const std::string lock = folder + "/live.lock";
    lock_fd_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd_ < 0 || flock(lock_fd_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      if (lock_fd_ >= 0) close(lock_fd_);
      throw Error(ErrorCode::kState,
                  fmt::format("{}: {}; two that act would fight over the tasks", lock,
                              error == EWOULDBLOCK ? "another kernelx acts on this machine"
                                                   : std::strerror(error)));
    }
    journal_path_ = folder + "/live.journal";
    journal_.emplace(Journal::Create(journal_path_));
    supervisor_ = std::make_unique<Supervisor>(journal_path_);
  }
  SensorOptions sensor{.target = options_.target,
                       .ignored_tgids = {getpid()},
                       .least_gap_ns = options_.least_gap_ns};
  if (supervisor_) sensor.ignored_tgids.push_back(supervisor_->pid());
  sensor_ = OpenSensor(sensor);
}

Engine::~Engine() {
  if (journal_) {
    journal_->RestoreAll();
    journal_->RestoreAll();
  }
  supervisor_.reset();
  if (journal_) unlink(journal_path_.c_str());
  if (lock_fd_ >= 0) close(lock_fd_);
}

void Engine::AddTree(int32_t root_tgid) { sensor_->AddTree(root_tgid); }

void Engine::Step() {
  Intake intake(*this);
  sensor_->Drain(intake);
  const uint64_t now_ns = NowNs();
  if (now_ns - swept_ns_ >= kSweepNs) Sweep(now_ns);
}

void Engine::Run(const std::function<bool()>& stop, const std::function<void()>& every_second) {
  uint64_t next_ns = NowNs(), told_ns = next_ns;
  while (!stop()) {
    Step();
    const uint64_t now_ns = NowNs();
    if (now_ns - told_ns >= kSecondNs) {
      told_ns = now_ns;
      every_second();
    }
    next_ns = std::max(next_ns + options_.drain_ns, now_ns);
    const timespec until{.tv_sec = static_cast<time_t>(next_ns / kSecondNs),
                         .tv_nsec = static_cast<long>(next_ns % kSecondNs)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
  Step();
}

void Engine::Observe(const SchedEvent& event) {
  const TaskId id = TaskOf(event.state);
  Task& task = tasks_[id];
  const bool first = task.events == 0;
  if (first) {
    task.waits = std::make_unique<Histogram>();
    task.tgid = static_cast<int32_t>(event.state.features[kSlotTgid]);
    task.session = event.session;
    task.viewed_exec_ns = event.state.features[kSlotExecNs];
    ++sessions_[event.session];
  }
  task.comm = event.comm;
  task.waits->Add(event.state.features[kSlotWaitUs]);
  task.exec_ns = event.state.features[kSlotExecNs];
  task.last_event_ns = last_event_ns_ = event.state.timestamp_ns;
  ++task.events;
  ++stats_.events;
  if (first && !options_.dry_run) MeetHeir(task, event);
  if (task.entry != nullptr) CheckStanding(task, event);
  ++task.standing.events;

  const bool needed = decider_->NeedsValues(task.standing, event.state.timestamp_ns);
  const auto values = std::span(values_).first(needed ? values_.size() : 0);
  extractor_.Observe(event.state, task.standing.decision.action, values);
  if (sink_ != nullptr) sink_->OnEvent(event);
  const auto decision = decider_->Decide(event, values, task.standing);
  if (!decision) return;
  ++stats_.decisions;
  Act(task, event, *decision, values);
}

/// A new task may run with what its maker had been given: it starts from its maker's own values.
void Engine::MeetHeir(Task& task, const SchedEvent& event) {
  if (event.state.features[kSlotWokenBy] != static_cast<uint64_t>(WokenBy::kNew)) return;
  for (const auto& [id, other] : tasks_) {
    if (other.entry == nullptr || &other == &task) continue;
    if (other.tgid != event.parent_tgid && other.tgid != task.tgid) continue;
    const int nice = NiceIn(event);  // its maker may have been given something else since
    if (nice != other.nice && nice != other.entry->earlier_nice) continue;
    if (nice == other.own_nice) continue;
    if (WriteSched(event.state.pid, other.own_nice, other.own_slice_ns, nullptr) ==
        ApplyResult::kApplied) {
      ++stats_.heirs;
    }
    return;
  }
}

/// What the event shows of the task's values: is our nudge in force, or has someone else come?
void Engine::CheckStanding(Task& task, const SchedEvent& event) {
  const uint64_t slice_ns = event.state.features[kSlotSliceNs];  // 0: the rung does not tell
  const bool shown = NiceIn(event) == task.nice &&
                     (task.slice_ns == 0 || slice_ns == 0 || slice_ns == task.slice_ns);
  if (task.unchecked) {
    task.unchecked = false;
    ++stats_.checked;
    stats_.in_force += shown ? 1 : 0;
  }
  if (!shown && event.state.timestamp_ns >= task.changed_ns) Yield(task, event);
}

void Engine::Yield(Task& task, const SchedEvent& event) {
  task.hands_off = true;
  journal_->Remove(*task.entry);
  task.entry = nullptr;
  task.standing.decision.action = 0.0;
  ++stats_.yielded;
  if (sink_ != nullptr) sink_->OnYield(event);
}

/// Reads the task's own values and journals them.
bool Engine::Adopt(Task& task, const SchedEvent& event) {
  if (task.entry != nullptr) return true;
  const auto own = ReadSched(event.state.pid);
  if (!own) {
    ++stats_.gone;
    return false;
  }
  task.own_nice = own->nice;
  task.own_slice_ns = own->slice_ns == default_slice_ns_ ? 0 : own->slice_ns;
  task.nice = own->nice;
  task.slice_ns = own->slice_ns;
  task.entry = journal_->Add(event.state.pid, task.tgid, event.state.features[kSlotStartNs],
                             task.own_nice, task.own_slice_ns);
  return task.entry != nullptr;
}

void Engine::Act(Task& task, const SchedEvent& event, const Decision& decision,
                 std::span<const double> values) {
  Standing& standing = task.standing;
  const double before = standing.decision.action;
  Decision bounded = decision;
  if (!decision.drawn) bounded.action = governor_.Bound(decision.action);
  Ruling ruling = Ruling::kSpared;
  if (governor_.MayTouch(event) && !task.hands_off) {
    ruling = governor_.Rule(bounded, before, task.changed_ns, event.state.timestamp_ns);
  }
  if (ruling != Ruling::kAct) {
    stats_.small += ruling == Ruling::kSmall;
    stats_.rested += ruling == Ruling::kRest;
    stats_.spared += ruling == Ruling::kSpared;
    if (ruling == Ruling::kSmall) {
      // Decided, and found good as it is: what stands was taken anew.
      bounded.action = before;
      standing = Decided(bounded, event);
    }
    return;
  }
  NudgeRecord nudge{.pid = event.state.pid,
                    .start_ns = event.state.features[kSlotStartNs],
                    .action = bounded.action,
                    .drawn = bounded.drawn,
                    .mode = bounded.mode,
                    .window = bounded.window,
                    .p_draw = bounded.p_draw,
                    .p_zero = bounded.p_zero,
                    .decided_ns = event.state.timestamp_ns};
  if (!options_.dry_run) {
    if (!Adopt(task, event)) return;
    // The event is some time old: whoever changed the task since then keeps the last word.
    const auto found = ReadSched(event.state.pid);
    if (found && (found->nice != task.nice || found->slice_ns != task.slice_ns)) {
      Yield(task, event);
      return;
    }
    const bool own = bounded.action == 0.0;
    const int nice = NiceOf(bounded.action, task.own_nice);
    const uint64_t slice_ns =
        own ? task.own_slice_ns : (default_slice_ns_ == 0 ? 0 : SliceNsOf(bounded.action));
    Journal::Intend(*task.entry, nice, slice_ns);
    SchedParams now{.nice = nice, .slice_ns = slice_ns};
    const ApplyResult result = WriteSched(event.state.pid, nice, slice_ns, &now);
    nudge.applied = result == ApplyResult::kApplied;
    nudge.nice = task.nice = now.nice;
    nudge.slice_ns = task.slice_ns = now.slice_ns;
    stats_.gone += result == ApplyResult::kGone;
    stats_.refused += result == ApplyResult::kRefused;
    stats_.mismatched += result == ApplyResult::kMismatch;
    if (result == ApplyResult::kGone || result == ApplyResult::kRefused) {
      task.hands_off = true;
      journal_->Remove(*task.entry);
      task.entry = nullptr;
      bounded.action = 0.0;
    }
    task.unchecked = task.entry != nullptr;
  }
  nudge.applied_ns = task.changed_ns = NowNs();
  ++stats_.nudges;
  stats_.latency_us.Add((nudge.applied_ns - std::min(nudge.applied_ns, nudge.decided_ns)) / 1000);
  standing = Decided(bounded, event);
  if (sink_ != nullptr) sink_->OnNudge(nudge, event, before, values);
}

void Engine::Release(Task& task) {
  if (task.entry == nullptr) return;
  journal_->PutBack(*task.entry);
  task.entry = nullptr;
  task.standing = {};
}

void Engine::Sweep(uint64_t now_ns) {
  swept_ns_ = now_ns;
  if (supervisor_ && !supervisor_->alive()) {
    RestoreAll();
    throw Error(ErrorCode::kState,
                "live: the supervisor was killed; every task was put back, and nothing is done "
                "without it: start again");
  }
  const uint64_t ttl_ns = governor_.options().ttl_ns;
  for (auto it = tasks_.begin(); it != tasks_.end();) {
    Task& task = it->second;
    if (now_ns < task.last_event_ns + ttl_ns) {
      ++it;
      continue;
    }
    if (task.entry != nullptr) {
      Release(task);
      ++stats_.expired;
    }
    extractor_.Gone(it->first);
    it = tasks_.erase(it);
  }
}

RestoreReport Engine::RestoreAll() {
  RestoreReport report;
  if (journal_) report = journal_->RestoreAll();
  for (auto& [id, task] : tasks_) {
    task.entry = nullptr;
    task.standing = {};
  }
  return report;
}

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  stats.dropped = sensor_->stats().dropped;
  stats.seconds = static_cast<double>(NowNs() - begin_ns_) / 1e9;
  stats.own_cpu_s = OwnCpuSeconds();
  stats.tasks = tasks_.size();
  stats.touched =
      static_cast<size_t>(std::count_if(tasks_.begin(), tasks_.end(), [](const auto& t) {
        return t.second.entry != nullptr && t.second.standing.decision.action != 0.0;
      }));
  return stats;
}

std::vector<TaskView> Engine::Tasks(size_t most) {
  const uint64_t now_ns = NowNs();
  const double elapsed_ns = static_cast<double>(std::max<uint64_t>(1, now_ns - viewed_ns_));
  viewed_ns_ = now_ns;
  std::vector<TaskView> views;
  for (auto& [id, task] : tasks_) {
    if (task.waits->total() == 0) continue;
    views.push_back(
        {.pid = id.pid,
         .comm = task.comm.data(),
         .action = task.standing.decision.action,
         .nice = task.nice,
         .slice_ns = task.slice_ns,
         .events = task.waits->total(),
         .cpu_share = static_cast<double>(task.exec_ns - task.viewed_exec_ns) / elapsed_ns,
         .wait_p50_us = task.waits->Quantile(0.5),
         .wait_p99_us = task.waits->Quantile(0.99),
         .session = task.session});
    *task.waits = {};
    task.viewed_exec_ns = task.exec_ns;
  }
  const auto weight = [](const TaskView& v) { return v.wait_p99_us; };
  const size_t shown = std::min(most, views.size());
  std::partial_sort(views.begin(), views.begin() + static_cast<ptrdiff_t>(shown), views.end(),
                    [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  views.resize(shown);
  return views;
}

}  // namespace kernelx
