// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What every touched task had before, on a memory-mapped file: it outlives the process that wrote
// it, however that ended. An entry is whole before the first change of its task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernelx/act/actuator.h"

namespace kernelx {

/// Where running parts leave their files: $KERNELX_RUN_DIR, or /run/kernelx. Made when missing;
/// throws
/// kMissingCapability when it cannot be.
[[nodiscard]] std::string RunFolder();

/// Fixed width, in the file.
struct JournalEntry {
  int32_t pid = 0;
  int32_t tgid = 0;
  uint64_t start_ns = 0;  ///< as `StartNsOf` or the sensor has it
  int32_t own_nice = 0;   ///< before the first change
  int32_t set_nice = 0;   ///< what was asked for last, and the time before that
  int32_t earlier_nice = 0;
  uint32_t valid = 0;
  uint64_t own_slice_ns = 0;  ///< 0: the kernel's default
  uint64_t set_slice_ns = 0;
  uint64_t earlier_slice_ns = 0;
};
static_assert(sizeof(JournalEntry) == 56);

/// What came of putting one task back.
enum class Restored : uint8_t { kRestored, kGone, kForeign, kRefused };

struct RestoreReport {
  size_t restored = 0;
  size_t gone = 0;       ///< the task ended, or its pid is another's now
  size_t foreign = 0;    ///< someone else has changed it since: left alone
  size_t refused = 0;    ///< the kernel would not
  size_t inherited = 0;  ///< children that had inherited a nudge, put back as well
};

class Journal {
 public:
  static constexpr size_t kCapacity = 65536;

  /// A new, empty journal at `path`. Throws kState when one with entries lies there (a killed
  /// `live` left it: `kernelx restore`), kFile when it cannot be written.
  static Journal Create(const std::string& path);
  /// The journal a process left. Throws kFile when there is none, kBadInput when it is none.
  static Journal Open(const std::string& path);
  Journal(Journal&& other) noexcept;
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// A free entry for the task, valid from now on; null when the journal is full.
  JournalEntry* Add(int32_t pid, int32_t tgid, uint64_t start_ns, int own_nice,
                    uint64_t own_slice_ns);
  /// Notes what the next system call asks for.
  static void Intend(JournalEntry& entry, int nice, uint64_t slice_ns);
  void Remove(JournalEntry& entry);
  /// Puts one task back if it still is that task and has what was set; the entry goes, unless the
  /// kernel refused.
  Restored PutBack(JournalEntry& entry);
  [[nodiscard]] size_t size() const;

  /// Puts every task back that still has what was set, children that inherited it included, and
  /// empties the journal. `dry_run` only counts. Safe to repeat.
  RestoreReport RestoreAll(bool dry_run = false);

 private:
  struct Header;
  Journal(int fd, void* memory);
  int fd_ = -1;
  Header* header_ = nullptr;
  JournalEntry* entries_ = nullptr;
  size_t hint_ = 0;  ///< where to look for a free entry first
};

}  // namespace kernelx
