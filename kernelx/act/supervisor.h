// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The process that puts everything back when the acting one dies, whatever killed it.
#pragma once

#include <sys/types.h>

#include <string>

namespace kernelx {

/// Forks the supervisor; it waits for the end of this process and then restores every entry of the
/// journal at `journal_path`. Call it before the first change and before any thread is started. If
/// the supervisor itself dies, this process has to restore and stop: ask `alive` often.
class Supervisor {
 public:
  explicit Supervisor(const std::string& journal_path);
  /// The journal must be empty by then (or the supervisor empties it): waits until it is done.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  [[nodiscard]] bool alive() const;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int supervisor_fd_ = -1;  ///< pidfd
  int release_fd_ = -1;     ///< closing it lets the supervisor go
};

}  // namespace kernelx
