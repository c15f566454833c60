// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/runqueue.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace kernelx {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;
constexpr int64_t kMinBurstNs = 1000;
constexpr double kHalfLifeNs = 32e6;
/// The balancer of a CPU looks every so many ticks.
constexpr uint64_t kBalanceTicks = 2;
/// Simulated time begins here: nothing starts at 0, as nothing does on a machine that has booted.
constexpr int64_t kBootNs = 1'000'000'000;
constexpr uint32_t kFirstPid = 1000;

int64_t Ns(double us) { return std::llround(us * 1e3); }

}  // namespace

RunQueue::RunQueue(std::shared_ptr<const RunQueueLoad> load, uint64_t seed)
    : load_(std::move(load)), now_(kBootNs) {
  CheckLoad(*load_);
  cpus_.resize(load_->cpus);
  for (size_t i = 0; i < cpus_.size(); ++i) {
    // Ticks of the CPUs are spread over the period.
    cpus_[i].next_tick = now_ + kTickNs * static_cast<int64_t>(i + 1) / load_->cpus;
    cpus_[i].charged_at = now_;
  }
  auto crowds = std::make_shared<std::vector<std::vector<uint32_t>>>(load_->messages.size());
  tasks_.resize(load_->tasks.size());
  for (uint32_t i = 0; i < tasks_.size(); ++i) {
    if (load_->tasks[i].kind == TaskKind::kMessaging) {
      (*crowds)[load_->tasks[i].group].push_back(i);
    }
  }
  crowds_ = std::move(crowds);
  Reseed(seed);
  for (uint32_t i = 0; i < tasks_.size(); ++i) Begin(i);
  for (size_t group = 0; group < crowds_->size(); ++group) {
    const auto& members = (*crowds_)[group];
    for (uint32_t k = 0; k < load_->messages[group]; ++k) {
      Deliver(members[k % members.size()], members[(k + 1) % members.size()]);
    }
  }
}

void RunQueue::Reseed(uint64_t seed) {
  for (uint32_t i = 0; i < tasks_.size(); ++i) tasks_[i].rng = Rng(seed, i);
}

void RunQueue::Begin(uint32_t index) {
  Task& task = tasks_[index];
  const TaskSpec& spec = load_->tasks[index];
  task.cpu = index % load_->cpus;
  task.setting = {.nice = spec.nice};
  task.entity = {.id = index, .weight = NiceWeight(spec.nice)};
  task.asleep_since = task.averaged_at = task.seen_at = now_;
  switch (spec.kind) {
    case TaskKind::kPeriodic:
      task.period = now_ + Ns(spec.period_us * task.rng.Uniform());
      SetTimer(task.period, index, TimerKind::kWake);
      break;
    case TaskKind::kServer:
      SetTimer(now_ + Ns(-spec.period_us * std::log(1.0 - task.rng.Uniform())), index,
               TimerKind::kArrival);
      break;
    case TaskKind::kHog:
      task.work = kNever;
      Wake(index, WokenBy::kNew, 0, task.cpu);
      break;
    case TaskKind::kMessaging:
      break;  // the first message wakes it
  }
}

int64_t RunQueue::Burst(uint32_t index) {
  return std::max(kMinBurstNs, Ns(load_->tasks[index].burst.Draw(tasks_[index].rng)));
}

void RunQueue::SetTimer(int64_t at, uint32_t task, TimerKind kind) {
  timers_.push_back({.at = at, .number = ++numbered_, .task = task, .kind = kind});
  std::ranges::push_heap(timers_, std::greater<>());
}

uint32_t RunQueue::Next() {
  while (reported_ == switched_.size()) {
    switched_.clear();
    reported_ = 0;
    Step();
  }
  return switched_[reported_++];
}

void RunQueue::Step() {
  int64_t at = timers_.empty() ? kNever : timers_.front().at;
  uint32_t who = load_->cpus;  // none: a timer
  bool tick = false;
  for (uint32_t i = 0; i < load_->cpus; ++i) {
    const Cpu& cpu = cpus_[i];
    if (cpu.queue.running() == EevdfQueue::kNone) continue;
    const int64_t done = cpu.charged_at + tasks_[cpu.queue.running()].work;
    if (done < at) {
      at = done;
      who = i;
      tick = false;
    }
    if (cpu.next_tick < at) {
      at = cpu.next_tick;
      who = i;
      tick = true;
    }
  }
  now_ = std::max(now_, at);
  ++handled_;
  if (who == load_->cpus) {
    const Timer timer = timers_.front();
    std::ranges::pop_heap(timers_, std::greater<>());
    timers_.pop_back();
    Fire(timer);
  } else if (tick) {
    Tick(who);
  } else {
    Complete(who);
  }
}

void RunQueue::Fire(const Timer& timer) {
  Task& task = tasks_[timer.task];
  const TaskSpec& spec = load_->tasks[timer.task];
  switch (timer.kind) {
    case TimerKind::kWake:
      task.work = Burst(timer.task);
      Wake(timer.task, WokenBy::kTimer, 0, task.cpu);
      break;
    case TimerKind::kArrival: {
      SetTimer(now_ + Ns(-spec.period_us * std::log(1.0 - task.rng.Uniform())) + 1, timer.task,
               TimerKind::kArrival);
      if (task.place == Place::kAsleep || task.place == Place::kDelayed) {
        task.work = Burst(timer.task);
        Wake(timer.task, WokenBy::kSoftirq, 0, 0);  // one CPU takes the interrupts
      } else {
        ++task.waiting;
      }
      break;
    }
    case TimerKind::kSet:
      if (timer.number == task.timer) Apply(timer.task);
      break;
  }
}

void RunQueue::Tick(uint32_t index) {
  Cpu& cpu = cpus_[index];
  cpu.next_tick += kTickNs;
  if (++cpu.ticks % kBalanceTicks == 0) Balance(index);
  if (Charge(index)) Reschedule(index);
}

bool RunQueue::Charge(uint32_t index) {
  Cpu& cpu = cpus_[index];
  const int64_t ran = now_ - cpu.charged_at;
  cpu.charged_at = now_;
  const uint32_t running = cpu.queue.running();
  if (running == EevdfQueue::kNone) return false;
  tasks_[running].exec += ran;
  tasks_[running].work -= ran;
  return cpu.queue.Charge(ran);
}

void RunQueue::Complete(uint32_t index) {
  Cpu& cpu = cpus_[index];
  const bool give_way = Charge(index);
  const uint32_t task = cpu.queue.running();
  ++tasks_[task].completions;
  const bool more = GoesOn(task);
  if (!more) Sleep(index);
  // A sender that sleeps does so first: its CPU is free for the task it wakes.
  if (load_->tasks[task].kind == TaskKind::kMessaging) Deliver(NextOfCrowd(task), task);
  const uint32_t running = cpu.queue.running();
  if (running == EevdfQueue::kNone || (give_way && running == task)) Reschedule(index);
}

bool RunQueue::GoesOn(uint32_t index) {
  Task& task = tasks_[index];
  const TaskSpec& spec = load_->tasks[index];
  if (spec.kind == TaskKind::kPeriodic) {
    // Periods that began while it worked are skipped.
    const int64_t period = Ns(spec.period_us);
    task.period += period * ((now_ - task.period) / period + 1);
    SetTimer(task.period, index, TimerKind::kWake);
    return false;
  }
  if (spec.kind == TaskKind::kHog) {
    task.work = kNever;
    return true;
  }
  if (task.waiting == 0) return false;
  --task.waiting;
  task.work = Burst(index);
  return true;
}

uint32_t RunQueue::NextOfCrowd(uint32_t index) {
  const auto& crowd = (*crowds_)[load_->tasks[index].group];
  const uint32_t to = crowd[tasks_[index].rng.Below(crowd.size() - 1)];
  return to == index ? crowd.back() : to;
}

void RunQueue::Deliver(uint32_t to, uint32_t from) {
  Task& task = tasks_[to];
  if (task.place == Place::kAsleep || task.place == Place::kDelayed) {
    task.work = Burst(to);
    Wake(to, WokenBy::kTask, from, tasks_[from].cpu);
  } else {
    ++task.waiting;
  }
}

void RunQueue::Sleep(uint32_t index) {
  Cpu& cpu = cpus_[index];
  const uint32_t id = cpu.queue.running();
  Task& task = tasks_[id];
  UpdateAverages(task);
  ++task.voluntary;
  task.asleep_since = now_;
  if (cpu.queue.DelaySleep()) {
    task.place = Place::kDelayed;
  } else {
    task.entity = cpu.queue.Remove(id);
    task.place = Place::kAsleep;
  }
}

uint32_t RunQueue::SelectCpu(uint32_t task, uint32_t waker_cpu) const {
  const uint32_t previous = tasks_[task].cpu;
  const auto idle = [&](uint32_t cpu) { return cpus_[cpu].queue.size() == 0; };
  if (idle(previous)) return previous;
  if (idle(waker_cpu)) return waker_cpu;
  for (uint32_t cpu = 0; cpu < load_->cpus; ++cpu) {
    if (idle(cpu)) return cpu;
  }
  return cpus_[waker_cpu].queue.weight() < cpus_[previous].queue.weight() ? waker_cpu : previous;
}

void RunQueue::Wake(uint32_t index, WokenBy by, uint32_t waker, uint32_t waker_cpu) {
  Task& task = tasks_[index];
  UpdateAverages(task);
  task.slept = now_ - task.asleep_since;
  task.runnable_since = now_;
  task.exec_at_wake = task.exec;
  task.woken_by = by;
  task.waker = by == WokenBy::kTask ? waker : EevdfQueue::kNone;
  const bool delayed = task.place == Place::kDelayed;
  if (!delayed) {
    const uint32_t to = SelectCpu(index, waker_cpu);
    if (to != task.cpu) ++task.migrations;
    task.cpu = to;
  }
  task.place = Place::kQueued;
  Cpu& cpu = cpus_[task.cpu];
  const bool give_way = Charge(task.cpu);
  if (delayed) {
    cpu.queue.WakeDelayed(index);
  } else {
    cpu.queue.Enqueue(task.entity);
  }
  if (cpu.queue.running() == EevdfQueue::kNone || give_way || cpu.queue.Preempts(index)) {
    Reschedule(task.cpu);
  }
}

void RunQueue::Reschedule(uint32_t index) {
  Cpu& cpu = cpus_[index];
  uint32_t next = cpu.queue.Pick();
  while (next != EevdfQueue::kNone && tasks_[next].place == Place::kDelayed) {
    tasks_[next].entity = cpu.queue.Remove(next);
    tasks_[next].place = Place::kAsleep;
    next = cpu.queue.Pick();
  }
  if (next == EevdfQueue::kNone && PullTo(index)) next = cpu.queue.Pick();
  if (next != cpu.queue.running() && next != EevdfQueue::kNone) SwitchTo(index, next);
}

void RunQueue::SwitchTo(uint32_t index, uint32_t to) {
  Cpu& cpu = cpus_[index];
  Task& task = tasks_[to];
  const uint32_t from = cpu.queue.running();
  task.preempted_other = from != EevdfQueue::kNone;
  if (from != EevdfQueue::kNone) {
    Task& other = tasks_[from];
    UpdateAverages(other);
    other.place = Place::kQueued;
    ++other.involuntary;
    other.runnable_since = now_;
    other.woken_by = WokenBy::kNobody;
    other.waker = EevdfQueue::kNone;
    other.slept = 0;
  }
  if (cpu.next_tick <= now_) cpu.next_tick += ((now_ - cpu.next_tick) / kTickNs + 1) * kTickNs;
  task.previous_prio = cpu.last_prio;
  cpu.last_prio = 120 + task.setting.nice;
  UpdateAverages(task);
  task.place = Place::kRunning;
  task.work += Ns(load_->switch_cost_us);
  cpu.queue.Run(to);
  cpu.charged_at = now_;
  ++cpu.switches;
  task.wait_us = static_cast<uint64_t>((now_ - task.runnable_since) / 1000);
  task.seen_at = now_;
  task.seen_runnable = cpu.queue.runnable();
  task.seen_switches = cpu.switches;
  task.seen_vruntime = static_cast<uint64_t>(cpu.queue.Find(to).vruntime);
  if (load_->tasks[to].recorded) switched_.push_back(to);
}

void RunQueue::Move(uint32_t index, uint32_t to) {
  Task& task = tasks_[index];
  cpus_[to].queue.Enqueue(cpus_[task.cpu].queue.Remove(index, true));
  task.cpu = to;
  ++task.migrations;
}

bool RunQueue::PullTo(uint32_t index) {
  uint32_t busiest = index;
  size_t most = 1;
  for (uint32_t i = 0; i < load_->cpus; ++i) {
    if (i != index && cpus_[i].queue.runnable() > most) {
      most = cpus_[i].queue.runnable();
      busiest = i;
    }
  }
  if (busiest == index) return false;
  Charge(busiest);
  const EevdfQueue& queue = cpus_[busiest].queue;
  const EevdfEntity* last = nullptr;
  for (const EevdfEntity& e : queue.entities()) {
    if (e.id == queue.running() || e.delayed) continue;
    if (last == nullptr || e.deadline > last->deadline) last = &e;
  }
  if (last == nullptr) return false;
  Move(last->id, index);
  return true;
}

void RunQueue::Balance(uint32_t index) {
  for (uint32_t i = 0; i < load_->cpus; ++i) {
    const EevdfQueue& queue = cpus_[i].queue;
    const int64_t more = queue.weight() - cpus_[index].queue.weight();
    if (i == index || more <= 0) continue;
    uint32_t move = EevdfQueue::kNone;
    uint32_t heaviest = 0;
    for (const EevdfEntity& e : queue.entities()) {
      if (e.id == queue.running() || e.delayed || 2 * int64_t{e.weight} > more) continue;
      if (e.weight > heaviest) {
        heaviest = e.weight;
        move = e.id;
      }
    }
    if (move == EevdfQueue::kNone) continue;
    Charge(i);
    Move(move, index);
    return;
  }
}

void RunQueue::Set(uint32_t task, const KernelSetting& setting, int64_t delay_ns) {
  tasks_[task].pending = setting;
  if (delay_ns <= 0) {
    tasks_[task].timer = 0;
    Apply(task);
    return;
  }
  SetTimer(now_ + delay_ns, task, TimerKind::kSet);
  tasks_[task].timer = numbered_;
}

void RunQueue::Apply(uint32_t index) {
  Task& task = tasks_[index];
  task.setting = task.pending;
  const uint32_t weight = NiceWeight(task.setting.nice);
  if (task.place == Place::kAsleep) {
    task.entity.lag = task.entity.lag * task.entity.weight / weight;
    task.entity.weight = weight;
    task.entity.slice_ns = task.setting.slice_ns;
    return;
  }
  const bool give_way = Charge(task.cpu);
  cpus_[task.cpu].queue.Reweigh(index, weight, task.setting.slice_ns);
  if (give_way) Reschedule(task.cpu);
}

void RunQueue::UpdateAverages(Task& task) const {
  const auto elapsed = static_cast<double>(now_ - task.averaged_at);
  task.averaged_at = now_;
  if (elapsed <= 0.0) return;
  const double kept = std::exp2(-elapsed / kHalfLifeNs);
  const bool runs = task.place == Place::kRunning;
  const bool waits = task.place == Place::kQueued;
  task.util = task.util * kept + (runs ? 1024.0 * (1.0 - kept) : 0.0);
  task.runnable = task.runnable * kept + (runs || waits ? 1024.0 * (1.0 - kept) : 0.0);
}

KernelSetting RunQueue::setting(uint32_t task) const { return tasks_[task].setting; }

RawState RunQueue::Observe(uint32_t index) const {
  const Task& task = tasks_[index];
  const auto prio = static_cast<uint64_t>(120 + task.setting.nice);
  const auto pid = [](uint32_t i) { return uint64_t{kFirstPid} + i; };
  RawState state;
  auto& f = state.features;
  f[kSlotCpu] = task.cpu;
  f[kSlotPrio] = f[kSlotStaticPrio] = f[kSlotNormalPrio] = prio;
  f[kSlotExecNs] = static_cast<uint64_t>(task.exec);
  f[kSlotVruntimeNs] = task.seen_vruntime;
  f[kSlotMigrations] = task.migrations;
  f[kSlotCpusAllowed] = load_->cpus;
  f[kSlotRunnable] = task.seen_runnable;
  f[kSlotWokenBy] = static_cast<uint64_t>(task.woken_by);
  f[kSlotWakerPid] = task.waker == EevdfQueue::kNone ? 0 : pid(task.waker);
  f[kSlotSleepUs] = static_cast<uint64_t>(task.slept / 1000);
  f[kSlotSwitches] = task.seen_switches;
  f[kSlotVoluntary] = task.voluntary;
  f[kSlotInvoluntary] = task.involuntary;
  f[kSlotSliceNs] = static_cast<uint64_t>(task.setting.slice_ns);
  f[kSlotUtilAvg] = static_cast<uint64_t>(task.util);
  f[kSlotPreviousPrio] = static_cast<uint64_t>(task.previous_prio);
  f[kSlotPreempted] = task.preempted_other ? 1 : 0;
  f[kSlotTgid] = pid(index);
  f[kSlotCpuSinceWakeNs] = static_cast<uint64_t>(task.exec - task.exec_at_wake);
  f[kSlotRunnableAvg] = static_cast<uint64_t>(task.runnable);
  f[kSlotStartNs] = static_cast<uint64_t>(kBootNs) + index;
  f[kSlotWaitUs] = task.wait_us;
  state.timestamp_ns = static_cast<uint64_t>(task.seen_at);
  state.pid = static_cast<int32_t>(pid(index));
  state.cpu = static_cast<int32_t>(task.cpu);
  return state;
}

}  // namespace kernelx
