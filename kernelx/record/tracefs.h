// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// A private trace instance of the kernel (tracefs), read in its binary form.
// Not here: what the events mean (tracefs_sensor.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kernelx {

/// Where each field of an event lies in its payload, in bytes; only its first bytes count for
/// arrays.
struct TraceFormat {
  uint16_t id = 0;
  std::map<std::string, size_t> offsets = {};
  /// Throws kMissingCapability naming the field when the kernel has no such field.
  [[nodiscard]] size_t at(const std::string& field) const;
};

/// Parses a `format` file.
[[nodiscard]] TraceFormat ParseTraceFormat(const std::string& text);

/// `payload` begins with the event's id (two bytes).
using TraceTake = std::function<void(uint64_t at_ns, std::span<const std::byte> payload)>;

/// Hands out the events of one page of the kernel's ring, in order. Returns how many were lost
/// before the page (at least 1 when the kernel says that some were). A damaged page ends early.
uint64_t ReadTracePage(std::span<const std::byte> page, const TraceTake& take);

/// `instances/kernelx-PID-N` below the tracefs mount, from construction to destruction. Clears away
/// what a recorder that was killed left. Clock: CLOCK_MONOTONIC.
class TraceInstance {
 public:
  /// Throws kMissingCapability with the mend.
  explicit TraceInstance(size_t buffer_bytes);
  ~TraceInstance();
  TraceInstance(const TraceInstance&) = delete;
  TraceInstance& operator=(const TraceInstance&) = delete;

  /// `event` as `sched/sched_switch`. Throws kMissingCapability when the kernel has it not.
  TraceFormat Enable(const std::string& event);
  /// Opens the rings; call after `Enable`.
  void Open();
  [[nodiscard]] size_t cpus() const { return pipes_.size(); }
  /// The next page of a CPU's ring, never blocks; empty when there is none.
  [[nodiscard]] std::span<const std::byte> NextPage(size_t index);
  /// The CPU whose ring has this index.
  [[nodiscard]] int cpu(size_t index) const { return pipes_[index].cpu; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Pipe {
    int fd = -1;
    int cpu = 0;
  };
  void Close();
  std::string path_;
  std::vector<Pipe> pipes_;
  std::vector<std::byte> page_;
};

}  // namespace kernelx
