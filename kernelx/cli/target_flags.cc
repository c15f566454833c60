// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/cli/target_flags.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "kernelx/ground/error.h"

namespace kernelx::cli {
namespace {

std::atomic<bool> stop_asked{false};

}  // namespace

void AddTargetFlags(CLI::App& verb, TargetSpec& target) {
  const auto add = [&](const char* flag, auto& values, const char* what, const char* type) {
    verb.add_option(flag, values, what)->type_name(type)->group("Targets")->allow_extra_args(false);
  };
  add("--comm", target.comms, "tasks of this command name (repeatable)", "NAME");
  add("--pid", target.pids, "all threads of this process (repeatable)", "PID");
  add("--tree", target.tree_roots, "this process and all its descendants (repeatable)", "PID");
  add("--cgroup", target.cgroups, "this cgroup and those below (repeatable)", "PATH");
  add("--uid", target.uids, "tasks of this user (repeatable)", "UID");
}

void CatchStopSignals() {
  struct sigaction action {};
  action.sa_handler = [](int /*signal*/) { stop_asked = true; };
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool StopAsked() { return stop_asked; }

Command::Command(const std::vector<std::string>& words) {
  if (words.empty()) throw Error(ErrorCode::kUsage, "no command given after `--`");
  std::array<int, 2> go{};
  if (pipe2(go.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorCode::kFile, fmt::format("{}: {}", words[0], std::strerror(errno)));
  }
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    close(go[1]);
    char byte = 0;
    if (read(go[0], &byte, 1) != 1) _exit(0);
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    dup2(STDERR_FILENO, STDOUT_FILENO);  // our own stdout is for results
    execvp(argv[0], argv.data());
    fmt::print(stderr, "{}: {}\n", argv[0], std::strerror(errno));
    _exit(127);
  }
  close(go[0]);
  go_fd_ = go[1];
  if (pid_ < 0)
    throw Error(ErrorCode::kFile, fmt::format("{}: {}", words[0], std::strerror(errno)));
}

Command::~Command() {
  if (go_fd_ >= 0) close(go_fd_);
  if (Ended()) return;
  kill(pid_, SIGTERM);
  for (int i = 0; i < 100 && !Ended(); ++i) usleep(10'000);
  if (Ended()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Command::Go() {
  if (write(go_fd_, "x", 1) != 1) throw Error(ErrorCode::kFile, "the command has gone already");
  close(go_fd_);
  go_fd_ = -1;
}

bool Command::Ended() {
  if (ended_) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  ended_ = true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

}  // namespace kernelx::cli
