// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What /proc says of a task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kernelx {

struct ProcTask {
  int32_t tgid = 0;
  int32_t parent_tgid = 0;
  int32_t session = 0;
  uint32_t uid = 0;
  uint8_t sched_class = 0;
  bool kernel_thread = false;
  uint64_t start_ns = 0;    ///< since boot, in steps of the clock tick (10 ms)
  std::string cgroup = {};  ///< path below the v2 mount; empty without one
  uint64_t cgroup_id = 0;   ///< inode of its folder; 0 when not known
};

/// Nothing when the task is gone.
[[nodiscard]] std::optional<ProcTask> ReadProcTask(int32_t pid);

/// The v2 hierarchy's mount; empty without one.
[[nodiscard]] std::string Cgroup2Mount();

}  // namespace kernelx
