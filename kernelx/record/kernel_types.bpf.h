/* SPDX-FileCopyrightText: 2026 The kernelx authors */
/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few fields of the kernel's structs that we read. Their offsets are found at load time from
 * the running kernel's BTF, so only names and types matter here.
 */
#ifndef KERNELX_RECORD_KERNEL_TYPES_BPF_H_
#define KERNELX_RECORD_KERNEL_TYPES_BPF_H_

#include <linux/bpf.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_avg {
  unsigned long runnable_avg;
  unsigned long util_avg;
};

struct rq {
  unsigned int nr_running;
  __u64 nr_switches;
};

struct cfs_rq {
  struct rq* rq;
};

struct sched_entity {
  __u64 sum_exec_runtime;
  __u64 vruntime;
  __u64 slice;
  __u64 nr_migrations;
  struct cfs_rq* cfs_rq;
  struct sched_avg avg;
};

typedef struct {
  unsigned int val;
} kuid_t;

struct cred {
  kuid_t uid;
};

struct upid {
  int nr;
};

struct pid {
  struct upid numbers[1];
};

struct signal_struct {
  struct pid* pids[4]; /* PIDTYPE_SID is 3 */
};

struct kernfs_node {
  __u64 id;
};

struct cgroup_subsys_state {
  struct cgroup_subsys_state* parent;
};

struct cgroup {
  struct cgroup_subsys_state self; /* first: a css of a cgroup is the cgroup */
  struct kernfs_node* kn;
};

struct css_set {
  struct cgroup* dfl_cgrp;
};

struct task_struct {
  unsigned int flags;
  int on_cpu;
  int prio;
  int static_prio;
  int normal_prio;
  struct sched_entity se;
  unsigned int policy;
  int nr_cpus_allowed;
  int pid;
  int tgid;
  struct task_struct* real_parent;
  unsigned long nvcsw;
  unsigned long nivcsw;
  __u64 start_boottime;
  const struct cred* cred;
  char comm[16];
  struct signal_struct* signal;
  struct css_set* cgroups;
};

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000

#endif /* KERNELX_RECORD_KERNEL_TYPES_BPF_H_ */
