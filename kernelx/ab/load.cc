// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ab/load.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "kernelx/ab/worker.h"
#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

[[noreturn]] void Fail(const char* what) {
  throw Error(ErrorCode::kFile, fmt::format("load: {}: {}", what, std::strerror(errno)));
}

int Processes(const GroupSpec& group) {
  return group.kind == WorkKind::kEcho ? 2 * group.count : group.count;
}

/// Two UDP sockets on loopback that talk to each other.
std::array<int, 2> ConnectedUdp() {
  std::array<int, 2> sockets{};
  std::array<sockaddr_in, 2> addresses{};
  for (size_t i = 0; i < 2; ++i) {
    sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    addresses[i].sin_family = AF_INET;
    addresses[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(addresses[i]);
    auto* address = reinterpret_cast<sockaddr*>(&addresses[i]);
    if (sockets[i] < 0 || bind(sockets[i], address, size) != 0 ||
        getsockname(sockets[i], address, &size) != 0) {
      Fail("UDP socket on loopback");
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    if (connect(sockets[i], reinterpret_cast<sockaddr*>(&addresses[1 - i]), sizeof(addresses[i])) !=
        0) {
      Fail("UDP socket on loopback");
    }
  }
  return sockets;
}

std::array<int, 2> ConnectedUnix() {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) Fail("socketpair");
  return pair;
}

uint64_t CpuNs(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/schedstat", pid));
  uint64_t run_ns = 0;
  file >> run_ns;
  return run_ns;
}

}  // namespace

struct Load::Shared {
  std::atomic<uint32_t> started;
  std::atomic<uint32_t> failed;
  WorkerSlot slots[];  // made by mmap, all zero

  /// The life of the root: starts the workers and waits; they end when it does.
  [[noreturn]] void RunRoot(const LoadSpec& spec, size_t count, uint64_t seed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "kx-load");
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);  // the caller ends us
    try {
      size_t next = 0;
      for (size_t g = 0; g < spec.groups.size(); ++g)
        StartGroup(spec.groups[g], g, count, seed, next);
    } catch (const Error&) {
      failed = 1;
      _exit(1);
    }
    wait(nullptr);  // a worker that ends takes the load with it: half a load is not judged
    _exit(1);
  }

  void StartGroup(const GroupSpec& group, size_t index, size_t count, uint64_t seed, size_t& next) {
    WorkerWires wires;
    for (int i = 0; i < Processes(group); ++i, ++next) {
      if (i % 2 == 0 && group.kind == WorkKind::kEcho) wires.pair = ConnectedUdp();
      if (i % 2 == 0 && group.kind == WorkKind::kMessaging) wires.pair = ConnectedUnix();
      const pid_t pid = fork();
      if (pid < 0) Fail("fork");
      if (pid > 0) continue;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_NAME, group.name.c_str());
      WorkerSlot& slot = slots[next];
      slot.group = static_cast<uint32_t>(index);
      slot.pid = getpid();
      ++started;
      while (started < count) usleep(1000);
      RunWorker(group, i, wires, Rng(seed, next), slot);
    }
  }
};

Load::Load(const LoadSpec& spec, uint64_t seed) : spec_(spec) {
  for (const GroupSpec& group : spec.groups) slots_ += static_cast<size_t>(Processes(group));
  const size_t bytes = sizeof(Shared) + slots_ * sizeof(WorkerSlot);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Fail("shared memory");
  shared_ = static_cast<Shared*>(memory);
  root_ = fork();
  if (root_ < 0) Fail("fork");
  if (root_ == 0) shared_->RunRoot(spec, slots_, seed);
  for (int i = 0; i < 500 && shared_->started < slots_ && shared_->failed == 0; ++i) usleep(10'000);
  if (shared_->started == slots_ && shared_->failed == 0) return;
  kill(root_, SIGKILL);
  waitpid(root_, nullptr, 0);
  munmap(shared_, bytes);
  throw Error(ErrorCode::kFile,
              fmt::format("load {}: its processes could not be started", spec.name));
}

Load::~Load() {
  kill(root_, SIGKILL);
  waitpid(root_, nullptr, 0);
  munmap(shared_, sizeof(Shared) + slots_ * sizeof(WorkerSlot));
}

std::vector<pid_t> Load::Pids(size_t group) const {
  std::vector<pid_t> pids;
  for (size_t i = 0; i < slots_; ++i) {
    if (shared_->slots[i].group == group) pids.push_back(shared_->slots[i].pid);
  }
  return pids;
}

std::vector<GroupSample> Load::Sample() const {
  std::vector<GroupSample> samples(spec_.groups.size());
  for (size_t i = 0; i < slots_; ++i) {
    WorkerSlot& slot = shared_->slots[i];
    GroupSample& sample = samples[slot.group];
    sample.completions += std::atomic_ref(slot.completions).load();
    sample.latency_us.Add(slot.latency_us);
    sample.cpu_ns += CpuNs(slot.pid) + std::atomic_ref(slot.children_cpu_ns).load();
  }
  return samples;
}

bool Load::Whole() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(root_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

}  // namespace kernelx
