// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What the verbs that meet the running kernel share: which tasks, until when, and a command of the
// user's to run meanwhile.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "kernelx/record/target.h"

namespace kernelx::cli {

/// --comm, --pid, --tree, --cgroup, --uid.
void AddTargetFlags(CLI::App& verb, TargetSpec& target);

/// SIGINT and SIGTERM ask for an end from now on, instead of ending the program.
void CatchStopSignals();
[[nodiscard]] bool StopAsked();

/// A command that waits for `Go`, so that nothing of it is missed. Killed with this object if it
/// still runs.
class Command {
 public:
  /// Throws kUsage for an empty command, kFile when it cannot be started.
  explicit Command(const std::vector<std::string>& words);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void Go();
  /// Whether it has ended; `status` as the shell would say it.
  [[nodiscard]] bool Ended();
  [[nodiscard]] int status() const { return status_; }

 private:
  pid_t pid_ = -1;
  int go_fd_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace kernelx::cli
