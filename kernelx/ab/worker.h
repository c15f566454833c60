// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The lives of the processes of a load.
#pragma once

#include <array>
#include <cstdint>

#include "kernelx/ab/load.h"
#include "kernelx/ground/rng.h"

namespace kernelx {

/// Where one process counts; nobody else writes there.
struct WorkerSlot {
  int32_t pid = 0;
  uint32_t group = 0;
  uint64_t completions = 0;
  uint64_t children_cpu_ns = 0;  ///< of programs it started, that have ended
  Histogram latency_us;
};

/// The two connected sockets of a pair (kEcho: UDP, server first; kMessaging: caller first).
struct WorkerWires {
  std::array<int, 2> pair = {-1, -1};
};

/// Never returns. `index` counts the processes of the group; of a pair, the even one comes first.
[[noreturn]] void RunWorker(const GroupSpec& spec, int index, const WorkerWires& wires, Rng rng,
                            WorkerSlot& slot);

}  // namespace kernelx
