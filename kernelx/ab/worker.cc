// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ab/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace kernelx {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kGivenUpNs = 100'000'000;
constexpr int kHogUnit = 400'000;  // steps of the loop: about a millisecond
constexpr size_t kMessageBytes = 100;
constexpr int kRounds = 64;
constexpr uint64_t kMostRestNs = 20'000'000;

uint64_t NowNs(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecondNs + static_cast<uint64_t>(now.tv_nsec);
}

void SleepUntil(uint64_t ns) {
  const timespec until{.tv_sec = static_cast<time_t>(ns / kSecondNs),
                       .tv_nsec = static_cast<long>(ns % kSecondNs)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

void Spin(int steps) {
  for (int i = 0; i < steps; ++i) __asm__ volatile("" ::: "memory");
}

/// Computes for so much CPU time of its own, however often it is interrupted.
void Compute(uint64_t us) {
  const uint64_t until = NowNs(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
  while (NowNs(CLOCK_THREAD_CPUTIME_ID) < until) Spin(2000);
}

void Count(WorkerSlot& slot) {
  std::atomic_ref(slot.completions).fetch_add(1, std::memory_order_relaxed);
}

uint64_t PauseNs(const GroupSpec& spec, Rng& rng) {
  const double mean_ns = 1e3 * spec.period_us;
  if (spec.kind != WorkKind::kIrregular) return static_cast<uint64_t>(mean_ns);
  return static_cast<uint64_t>(-mean_ns * std::log(1.0 - rng.Uniform()));
}

[[noreturn]] void Periodic(const GroupSpec& spec, Rng rng, WorkerSlot& slot) {
  uint64_t start_ns = NowNs() + rng.Below(1'000'000);
  for (;;) {
    start_ns += PauseNs(spec, rng);
    SleepUntil(start_ns);
    Compute(spec.work_us);
    slot.latency_us.Add((NowNs() - start_ns) / 1000);
    Count(slot);
    // What is too late is not made up for, or a starved second would weigh on the minutes after.
    while (NowNs() > start_ns + kGivenUpNs) {
      start_ns += PauseNs(spec, rng);
      slot.latency_us.Add((NowNs() - start_ns) / 1000);
    }
  }
}

/// Its client counts what is done.
[[noreturn]] void EchoServer(const GroupSpec& spec, int socket) {
  uint64_t intended_ns = 0;
  for (;;) {
    if (recv(socket, &intended_ns, sizeof(intended_ns), 0) != sizeof(intended_ns)) continue;
    // What is too late is answered without the work: its client counts how late it was.
    if (NowNs() < intended_ns + kGivenUpNs) Compute(spec.work_us);
    send(socket, &intended_ns, sizeof(intended_ns), 0);
  }
}

/// Sends when it is due, whether or not the answers have come.
[[noreturn]] void EchoClient(const GroupSpec& spec, int socket, Rng rng, WorkerSlot& slot) {
  uint64_t due_ns = NowNs();
  for (;;) {
    due_ns += PauseNs(spec, rng);
    for (;;) {
      const uint64_t now_ns = NowNs();
      if (now_ns >= due_ns) break;
      pollfd look{.fd = socket, .events = POLLIN, .revents = 0};
      const timespec rest{.tv_sec = 0, .tv_nsec = static_cast<long>(due_ns - now_ns)};
      if (ppoll(&look, 1, &rest, nullptr) <= 0) continue;
      uint64_t intended_ns = 0;
      while (recv(socket, &intended_ns, sizeof(intended_ns), MSG_DONTWAIT) == sizeof(intended_ns)) {
        slot.latency_us.Add((NowNs() - intended_ns) / 1000);
        Count(slot);
      }
    }
    send(socket, &due_ns, sizeof(due_ns), MSG_DONTWAIT);
  }
}

/// A caller and its answerer bounce a message; the caller rests now and then.
[[noreturn]] void Messaging(int index, const WorkerWires& wires, Rng rng, WorkerSlot& slot) {
  const int wire = wires.pair[static_cast<size_t>(index % 2)];
  std::array<char, kMessageBytes> message{};
  const auto send_one = [&] {
    if (write(wire, message.data(), message.size()) < 0) _exit(1);
  };
  const auto receive_one = [&] {
    if (read(wire, message.data(), message.size()) <= 0) _exit(1);
  };
  for (;;) {
    if (index % 2 == 1) {
      receive_one();
      send_one();
      continue;
    }
    for (int round = 0; round < kRounds; ++round) {
      send_one();
      receive_one();
      Count(slot);
    }
    SleepUntil(NowNs() + 1'000'000 + rng.Below(kMostRestNs));
  }
}

[[noreturn]] void Hog(WorkerSlot& slot) {
  for (;;) {
    Spin(kHogUnit);
    Count(slot);
  }
}

[[noreturn]] void Batch(Rng rng, WorkerSlot& slot) {
  for (;;) {
    for (uint64_t ms = 5 + rng.Below(56); ms > 0; --ms) {
      Spin(kHogUnit);
      Count(slot);
    }
    SleepUntil(NowNs() + 1'000'000 + rng.Below(4'000'000));
  }
}

[[noreturn]] void Forker(WorkerSlot& slot) {
  char program[] = "/bin/true";
  char* const argv[] = {program, nullptr};
  for (;;) {
    pid_t child = 0;
    if (posix_spawn(&child, program, nullptr, nullptr, argv, environ) != 0) _exit(1);
    waitpid(child, nullptr, 0);
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    const auto ns = [](const timeval& t) {
      return static_cast<uint64_t>(t.tv_sec) * kSecondNs + static_cast<uint64_t>(t.tv_usec) * 1000;
    };
    std::atomic_ref(slot.children_cpu_ns)
        .store(ns(usage.ru_utime) + ns(usage.ru_stime), std::memory_order_relaxed);
    Count(slot);
  }
}

[[noreturn]] void Disk(WorkerSlot& slot) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) _exit(1);
  const int fd = fileno(file);
  const std::string block(64 << 10, 'k');
  for (;;) {
    for (int i = 0; i < 16; ++i) {
      if (pwrite(fd, block.data(), block.size(), static_cast<off_t>(block.size()) * i) < 0)
        _exit(1);
    }
    fsync(fd);
    Count(slot);
  }
}

}  // namespace

void RunWorker(const GroupSpec& spec, int index, const WorkerWires& wires, Rng rng,
               WorkerSlot& slot) {
  switch (spec.kind) {
    case WorkKind::kPeriodic:
    case WorkKind::kIrregular:
      Periodic(spec, rng, slot);
    case WorkKind::kEcho:
      if (index % 2 == 0) EchoServer(spec, wires.pair[0]);
      EchoClient(spec, wires.pair[1], rng, slot);
    case WorkKind::kMessaging:
      Messaging(index, wires, rng, slot);
    case WorkKind::kHog:
      Hog(slot);
    case WorkKind::kBatch:
      Batch(rng, slot);
    case WorkKind::kFork:
      Forker(slot);
    case WorkKind::kDisk:
      Disk(slot);
  }
  _exit(1);
}

}  // namespace kernelx
