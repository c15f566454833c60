// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/act/probe.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "kernelx/act/actuator.h"
#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr int kProbeNice = 5;
constexpr uint64_t kProbeSliceNs = 500'000;
constexpr useconds_t kProbeUs = 200'000;

pid_t StartBusy(int cpu) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "kx-probe");
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof(one), &one);
  for (;;) __asm__ volatile("" ::: "memory");
}

uint64_t RunNs(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/schedstat", pid));
  uint64_t run_ns = 0;
  file >> run_ns;
  return run_ns;
}

int AllowedCpu() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 0;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (CPU_ISSET(cpu, &allowed)) return cpu;
  }
  return 0;
}

}  // namespace

std::string ProbeResult::Text() const {
  return fmt::format("nice +{} leaves {:.0f} % of a shared CPU ({}), slices {}", kProbeNice,
                     100 * nice_share, nice_acts() ? "acts" : "does not act",
                     slice_written ? "can be set" : "cannot be set");
}

ProbeResult ProbeKnobs() {
  const int cpu = AllowedCpu();
  const std::array<pid_t, 2> busy = {StartBusy(cpu), StartBusy(cpu)};
  if (busy[0] < 0 || busy[1] < 0) {
    throw Error(ErrorCode::kFile, fmt::format("probe: {}", std::strerror(errno)));
  }
  ProbeResult result;
  SchedParams now;
  WriteSched(busy[1], 0, 0, &now);  // not the nice value of who probes
  result.nice_written = WriteSched(busy[0], kProbeNice, 0, &now) == ApplyResult::kApplied;
  usleep(kProbeUs / 10);
  const std::array<uint64_t, 2> before = {RunNs(busy[0]), RunNs(busy[1])};
  usleep(kProbeUs);
  const double a = static_cast<double>(RunNs(busy[0]) - before[0]);
  const double b = static_cast<double>(RunNs(busy[1]) - before[1]);
  if (a + b > 0) result.nice_share = a / (a + b);
  result.slice_written = WriteSched(busy[1], 0, kProbeSliceNs, &now) == ApplyResult::kApplied &&
                         now.slice_ns == kProbeSliceNs;
  for (const pid_t pid : busy) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  return result;
}

bool AutogroupEnabled() {
  std::ifstream file("/proc/sys/kernel/sched_autogroup_enabled");
  int enabled = 0;
  return (file >> enabled) && enabled != 0;
}

bool DropCapabilities() {
  constexpr uint64_t kKept = (uint64_t{1} << CAP_SYS_NICE) | (uint64_t{1} << CAP_BPF);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (syscall(SYS_capget, &header, data.data()) != 0) return false;
  for (size_t word = 0; word < data.size(); ++word) {
    const auto mask = static_cast<uint32_t>(kKept >> (32 * word));
    data[word].effective &= mask;
    data[word].permitted &= mask;
    data[word].inheritable = 0;
  }
  return syscall(SYS_capset, &header, data.data()) == 0;
}

}  // namespace kernelx
