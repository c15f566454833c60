// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Which tasks the user means. The same words for `record`, `live`, `ab` and `top`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kernelx {

/// A task matches when any of the lists names it; with all of them empty every task matches. Idle
/// never does, nor do kernel threads unless `kernel_threads` is set.
struct TargetSpec {
  std::vector<std::string> comms = {};    ///< exact command names, at most 15 bytes
  std::vector<int32_t> pids = {};         ///< process ids: all threads of the process
  std::vector<int32_t> tree_roots = {};   ///< process ids: the process and all its descendants
  std::vector<std::string> cgroups = {};  ///< paths below the cgroup mount: the group and below
  std::vector<uint32_t> uids = {};
  bool kernel_threads = false;

  [[nodiscard]] bool everything() const {
    return comms.empty() && pids.empty() && tree_roots.empty() && cgroups.empty() && uids.empty();
  }
};

}  // namespace kernelx
