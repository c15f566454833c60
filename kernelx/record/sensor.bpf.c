/* SPDX-FileCopyrightText: 2026 The kernelx authors */
/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every switch-in of the targeted tasks. State of a task between two events sits in an array that is
 * direct-mapped by pid: a look-up costs an addition. The ring wakes nobody; the reader drains it on
 * a timer, because waking it an event made the recorder a third of all switches.
 */
#include "kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sensor_event.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct kx_config config;

enum { WOKEN_NOBODY, WOKEN_TIMER, WOKEN_SOFTIRQ, WOKEN_HARDIRQ, WOKEN_TASK, WOKEN_NEW };

struct task_slot {
  __u64 runnable_since_ns; /* 0: not known */
  __u64 slept_since_ns;
  __u64 sleep_ns;
  __u64 exec_at_wake_ns;
  __u32 pid;
  __u32 waker_pid;
  __u8 woken_by;
  __u8 woken_early; /* while still on its CPU, on the way to sleep */
  __u8 member;      /* found to be a target; that it is none is never remembered */
  __u8 unused;
  __u32 seen; /* events reported */
  /* Who the task is: behind long chains of pointers, so looked up now and then only. */
  __u64 cgroup_id;
  __u32 parent_tgid;
  __u32 session;
  __u32 uid;
  __u32 unused2;
  __u64 reported_ns;
};

enum { IDENTITY_EVERY = 64 };

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, KX_TASK_SLOTS);
  __type(key, __u32);
  __type(value, struct task_slot);
} tasks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32);
  __type(value, __u8);
} target_tgids SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct kx_counters);
} counters SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 << 20);
} events SEC(".maps");

/*
 * What a CPU is doing when it wakes a task. Set at entry and cleared at exit, never counted: an
 * entry missed while attaching, or an exit seen without its entry, mends itself at the next pair.
 */
struct cpu_context {
  __u8 hrtimer, timer, softirq, hardirq;
  __u8 unused[60];
};
struct cpu_context contexts[KX_MAX_CPUS];

static __always_inline struct cpu_context *this_context(void) {
  return &contexts[bpf_get_smp_processor_id() & (KX_MAX_CPUS - 1)];
}

static __always_inline struct task_slot *slot_of(__u32 pid) {
  __u32 key = pid & (KX_TASK_SLOTS - 1);
  return bpf_map_lookup_elem(&tasks, &key);
}

/* The slot, emptied if it was another task's. */
static __always_inline struct task_slot *claim_slot(__u32 pid) {
  struct task_slot *slot = slot_of(pid);
  if (slot && slot->pid != pid) {
    slot->pid = pid;
    slot->runnable_since_ns = 0;
    slot->slept_since_ns = 0;
    slot->sleep_ns = 0;
    slot->exec_at_wake_ns = 0;
    slot->waker_pid = 0;
    slot->woken_by = WOKEN_NOBODY;
    slot->woken_early = 0;
    slot->member = 0;
    slot->seen = 0;
  }
  return slot;
}

static __always_inline struct kx_counters *my_counters(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&counters, &zero);
}

static __always_inline void copy_comm(struct task_struct *task, __u64 comm[2]) {
  /* Two loads of the typed pointer; a helper call would cost more than the rest of the filter. */
  comm[0] = *(__u64 *)&task->comm[0];
  comm[1] = *(__u64 *)&task->comm[8];
}

static __always_inline int below_target_cgroup(struct task_struct *task) {
  struct cgroup *group = task->cgroups->dfl_cgrp;
  for (int level = 0; level < 16 && group; ++level) {
    __u64 id = BPF_CORE_READ(group, kn, id);
    for (__u32 i = 0; i < KX_MAX_CGROUPS && i < config.n_cgroups; ++i) {
      if (config.cgroups[i] == id) return 1;
    }
    group = (struct cgroup *)BPF_CORE_READ(group, self.parent);
  }
  return 0;
}

static __always_inline int is_target(struct task_struct *task, const __u64 comm[2]) {
  __u32 tgid = task->tgid;
  if (!config.kernel_threads && (task->flags & PF_KTHREAD)) return 0;
  for (__u32 i = 0; i < KX_MAX_IGNORED && i < config.n_ignored; ++i) {
    if (config.ignored_tgids[i] == tgid) return 0;
  }
  if (config.everything) return 1;
  for (__u32 i = 0; i < KX_MAX_COMMS && i < config.n_comms; ++i) {
    if (config.comms[i].lo == comm[0] && config.comms[i].hi == comm[1]) return 1;
  }
  if (config.use_tgids && bpf_map_lookup_elem(&target_tgids, &tgid)) return 1;
  if (config.n_uids) {
    __u32 uid = task->cred->uid.val;
    for (__u32 i = 0; i < KX_MAX_UIDS && i < config.n_uids; ++i) {
      if (config.uids[i] == uid) return 1;
    }
  }
  return config.n_cgroups && below_target_cgroup(task);
}

/* is_target, remembered where a target stays one: it may change its name or its cgroup. */
static __always_inline int is_member(struct task_struct *task, struct task_slot *slot,
                                     const __u64 comm[2]) {
  if (config.n_comms || config.n_cgroups) return is_target(task, comm);
  if (!slot->member) slot->member = is_target(task, comm) != 0;
  return slot->member;
}

static __always_inline void switched_out(struct task_struct *task, __u64 now, unsigned int state) {
  struct task_slot *slot = claim_slot(task->pid);
  if (!slot) return;
  if (state == 0) { /* still runnable: was preempted, or yielded */
    slot->runnable_since_ns = now;
    slot->woken_by = WOKEN_NOBODY;
    slot->waker_pid = 0;
    slot->sleep_ns = 0;
  } else {
    slot->slept_since_ns = now;
    slot->runnable_since_ns = slot->woken_early ? now : 0;
  }
  slot->woken_early = 0;
}

static __always_inline void fill(struct kx_switch_in *event, struct task_struct *task,
                                 struct task_slot *slot, __u64 now) {
  event->kind = KX_SWITCH_IN;
  event->pid = task->pid;
  event->timestamp_ns = now;
  event->start_ns = task->start_boottime;
  event->exec_ns = task->se.sum_exec_runtime;
  event->vruntime_ns = task->se.vruntime;
  event->slice_ns = task->se.slice;
  event->cpu_since_wake_ns = event->exec_ns - slot->exec_at_wake_ns;
  event->wait_ns = slot->runnable_since_ns && now > slot->runnable_since_ns
                       ? now - slot->runnable_since_ns
                       : 0;
  event->sleep_ns = slot->sleep_ns;
  event->voluntary = task->nvcsw;
  event->involuntary = task->nivcsw;
  event->migrations = task->se.nr_migrations;
  event->tgid = task->tgid;
  if ((slot->seen++ & (IDENTITY_EVERY - 1)) == 0) {
    slot->parent_tgid = task->real_parent->tgid;
    slot->uid = task->cred->uid.val;
    slot->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
    slot->session = task->signal->pids[3]->numbers[0].nr;
  }
  event->parent_tgid = slot->parent_tgid;
  event->uid = slot->uid;
  event->cgroup_id = slot->cgroup_id;
  event->session = slot->session;
  event->waker_pid = slot->waker_pid;
  event->util_avg = task->se.avg.util_avg;
  event->runnable_avg = task->se.avg.runnable_avg;
  event->cpu = bpf_get_smp_processor_id();
  event->cpus_allowed = task->nr_cpus_allowed;
  event->prio = task->prio;
  event->static_prio = task->static_prio;
  event->normal_prio = task->normal_prio;
  event->woken_by = slot->woken_by;
  event->sched_class = task->policy;
  struct rq *rq = task->se.cfs_rq->rq;
  event->cpu_switches = rq->nr_switches;
  event->runnable = rq->nr_running;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next,
             unsigned int prev_state) {
  __u64 now = bpf_ktime_get_ns();
  if (prev->pid) switched_out(prev, now, preempt ? 0 : prev_state);
  __u32 pid = next->pid;
  if (!pid) return 0; /* idle is no task */
  struct kx_counters *count = my_counters();
  struct task_slot *slot = slot_of(pid);
  if (!count || !slot) return 0;
  if (slot->pid != pid) {
    if (slot->pid) ++count->collided;
    slot = claim_slot(pid);
    if (!slot) return 0;
    slot->exec_at_wake_ns = next->se.sum_exec_runtime; /* first sight: counts from here */
  }
  __u64 comm[2];
  copy_comm(next, comm);
  if (!is_member(next, slot, comm)) {
    ++count->filtered;
    return 0;
  }
  if (config.least_gap_ns && now - slot->reported_ns < config.least_gap_ns) {
    ++count->thinned;
    return 0;
  }
  slot->reported_ns = now;
  struct kx_switch_in *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    ++count->dropped;
    return 0;
  }
  fill(event, next, slot, now);
  event->previous_prio = prev->prio;
  event->preempted = preempt;
  event->comm[0] = comm[0];
  event->comm[1] = comm[1];
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  return 0;
}

static __always_inline void woken(struct task_struct *task, __u8 by, __u32 waker) {
  struct task_slot *slot = claim_slot(task->pid);
  if (!slot) return;
  __u64 now = bpf_ktime_get_ns();
  slot->sleep_ns = slot->slept_since_ns && now > slot->slept_since_ns ? now - slot->slept_since_ns : 0;
  slot->runnable_since_ns = now;
  slot->exec_at_wake_ns = task->se.sum_exec_runtime;
  slot->woken_by = by;
  slot->waker_pid = waker;
  slot->woken_early = task->on_cpu != 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task) {
  struct cpu_context *context = this_context();
  __u8 by;
  __u32 waker = 0;
  if (context->hrtimer) {
    by = WOKEN_TIMER;
  } else if (context->hardirq) {
    by = WOKEN_HARDIRQ;
  } else if (context->timer) {
    by = WOKEN_TIMER;
  } else if (context->softirq) {
    by = WOKEN_SOFTIRQ;
  } else {
    by = WOKEN_TASK;
    waker = (__u32)bpf_get_current_pid_tgid();
  }
  woken(task, by, waker);
  return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task) {
  woken(task, WOKEN_NEW, (__u32)bpf_get_current_pid_tgid());
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child) {
  if (!config.inherit) return 0;
  __u32 tgid = parent->tgid, child_tgid = child->tgid;
  __u8 *inherited = bpf_map_lookup_elem(&target_tgids, &tgid);
  if (!inherited || !*inherited || tgid == child_tgid) return 0;
  __u8 one = 1;
  bpf_map_update_elem(&target_tgids, &child_tgid, &one, BPF_ANY);
  struct task_slot *slot = slot_of(child->pid);
  if (slot) slot->pid = 0; /* what was there was another task of that pid */
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_task, struct task_struct *task) {
  __u32 pid = task->pid, tgid = task->tgid;
  if (pid == tgid && config.inherit) bpf_map_delete_elem(&target_tgids, &tgid);
  struct task_slot *slot = slot_of(pid);
  int reported = slot && slot->pid == pid && slot->seen;
  if (slot && slot->pid == pid) slot->pid = 0;
  if (!reported) return 0; /* nobody has heard of it */
  struct kx_exit *gone = bpf_ringbuf_reserve(&events, sizeof(*gone), 0);
  if (!gone) return 0;
  gone->kind = KX_EXIT;
  gone->pid = pid;
  gone->start_ns = task->start_boottime;
  bpf_ringbuf_submit(gone, BPF_RB_NO_WAKEUP);
  return 0;
}

#define CONTEXT_PAIR(name, tracepoint, flag)       \
  SEC("tp_btf/" #tracepoint "_entry")              \
  int name##_entry(void *ctx) {                    \
    this_context()->flag = 1;                      \
    return 0;                                      \
  }                                                \
  SEC("tp_btf/" #tracepoint "_exit")               \
  int name##_exit(void *ctx) {                     \
    this_context()->flag = 0;                      \
    return 0;                                      \
  }

CONTEXT_PAIR(hrtimer, hrtimer_expire, hrtimer)
CONTEXT_PAIR(timer, timer_expire, timer)
CONTEXT_PAIR(softirq, softirq, softirq)
CONTEXT_PAIR(irq, irq_handler, hardirq)
