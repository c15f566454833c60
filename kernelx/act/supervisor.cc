// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/act/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "kernelx/act/journal.h"
#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

/// The whole life of the supervisor. The pipe's other end is held by the acting process alone: it
/// closes when that ends, be it by SIGKILL.
[[noreturn]] void Supervise(int worker_end, const std::string& journal_path) {
  prctl(PR_SET_NAME, "kx-supervisor");
  setsid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  setpriority(PRIO_PROCESS, 0, -20);  // it must run, even beside what was boosted
  char byte = 0;
  while (read(worker_end, &byte, 1) < 0 && errno == EINTR) {
  }
  try {
    Journal journal = Journal::Open(journal_path);
    // Twice: a task may have made a child between the look at it and the write.
    if (journal.size() > 0) {
      journal.RestoreAll();
      journal.RestoreAll();
    }
  } catch (const Error&) {
    _exit(1);
  }
  _exit(0);
}

}  // namespace

Supervisor::Supervisor(const std::string& journal_path) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorCode::kFile, fmt::format("supervisor: {}", std::strerror(errno)));
  }
  pid_ = fork();
  if (pid_ < 0) {
    throw Error(ErrorCode::kFile, fmt::format("supervisor: {}", std::strerror(errno)));
  }
  if (pid_ == 0) {
    close(pipe_ends[1]);
    Supervise(pipe_ends[0], journal_path);
  }
  close(pipe_ends[0]);
  release_fd_ = pipe_ends[1];
  supervisor_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

Supervisor::~Supervisor() {
  close(release_fd_);
  waitpid(pid_, nullptr, 0);
  close(supervisor_fd_);
}

bool Supervisor::alive() const {
  pollfd look{.fd = supervisor_fd_, .events = POLLIN, .revents = 0};
  return poll(&look, 1, 0) == 0;
}

}  // namespace kernelx
