/* SPDX-FileCopyrightText: 2026 The kernelx authors */
/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the BPF program and its reader share: configuration in, records out. C, fixed width, no
 * implicit padding.
 */
#ifndef KERNELX_RECORD_SENSOR_EVENT_H_
#define KERNELX_RECORD_SENSOR_EVENT_H_

#ifdef __cplusplus
#include <cstdint>
#define KX_U64 uint64_t
#define KX_U32 uint32_t
#define KX_U16 uint16_t
#define KX_U8 uint8_t
#else
#define KX_U64 unsigned long long
#define KX_U32 unsigned int
#define KX_U16 unsigned short
#define KX_U8 unsigned char
#endif

enum {
  KX_MAX_COMMS = 8,
  KX_MAX_UIDS = 8,
  KX_MAX_CGROUPS = 8,
  KX_MAX_IGNORED = 4,
  KX_MAX_CPUS = 512,
  KX_TASK_SLOTS = 1 << 16, /* direct-mapped by pid; two tasks that share one lose a wait */
};

struct kx_comm {
  KX_U64 lo, hi; /* the 16 bytes of task_struct.comm, NUL padded */
};

/* Fixed before the program is loaded, so that the verifier drops the branches not taken. */
struct kx_config {
  struct kx_comm comms[KX_MAX_COMMS];
  KX_U64 cgroups[KX_MAX_CGROUPS]; /* ids; a task below one matches */
  KX_U32 uids[KX_MAX_UIDS];
  KX_U32 ignored_tgids[KX_MAX_IGNORED];
  KX_U32 n_comms, n_cgroups, n_uids, n_ignored;
  KX_U32 use_tgids;      /* look into the map of target processes */
  KX_U32 inherit;        /* children of target processes are targets */
  KX_U32 kernel_threads; /* report them, too */
  KX_U32 everything;     /* no filter */
  KX_U64 least_gap_ns;   /* between two records of a task; what comes sooner is left out */
};

enum kx_record_kind {
  KX_SWITCH_IN = 1,
  KX_EXIT = 2,
};

/* One switch-in. */
struct kx_switch_in {
  KX_U32 kind;
  KX_U32 pid;
  KX_U64 timestamp_ns; /* CLOCK_MONOTONIC */
  KX_U64 start_ns;     /* since boot */
  KX_U64 exec_ns;
  KX_U64 vruntime_ns;
  KX_U64 slice_ns;
  KX_U64 cpu_since_wake_ns;
  KX_U64 wait_ns;
  KX_U64 sleep_ns;
  KX_U64 cpu_switches;
  KX_U64 voluntary;
  KX_U64 involuntary;
  KX_U64 migrations;
  KX_U64 cgroup_id;
  KX_U32 tgid;
  KX_U32 parent_tgid;
  KX_U32 session;
  KX_U32 uid;
  KX_U32 waker_pid;
  KX_U32 runnable;
  KX_U32 util_avg;
  KX_U32 runnable_avg;
  KX_U16 cpu;
  KX_U16 cpus_allowed;
  KX_U8 prio, static_prio, normal_prio, previous_prio;
  KX_U8 woken_by; /* as enum WokenBy */
  KX_U8 preempted;
  KX_U8 sched_class; /* SCHED_* */
  KX_U8 unused[5];
  KX_U64 comm[2];
};

/* A task is gone. */
struct kx_exit {
  KX_U32 kind;
  KX_U32 pid;
  KX_U64 start_ns;
};

/* Per CPU, summed by the reader. */
struct kx_counters {
  KX_U64 dropped;  /* no room in the ring */
  KX_U64 filtered; /* switch-ins that are no target */
  KX_U64 collided; /* waits lost to a shared task slot */
  KX_U64 thinned;  /* left out by least_gap_ns */
};

#ifdef __cplusplus
static_assert(sizeof(struct kx_switch_in) == 176, "fixed width, no implicit padding");
static_assert(sizeof(struct kx_exit) == 16, "fixed width, no implicit padding");
#endif

#endif /* KERNELX_RECORD_SENSOR_EVENT_H_ */
