// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The recording, `.kxr`: a versioned header, then zstd frames of records, each frame with its
// length and checksum. A crash loses at most the frame that was not yet written. See
// docs/format.md. Not here: pairing events into transitions (dataset).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kernelx/record/event.h"

namespace kernelx {

/// An action set on a task: drawn at random, or taken by a policy.
struct NudgeRecord {
  int32_t pid = 0;
  uint64_t start_ns = 0;
  double action = 0.0;
  bool drawn = false;  ///< at random, with the law below; else taken by rule
  uint8_t mode = 0;    ///< 0 task: a draw a task and event; 1 group: a draw a name and window
  uint32_t window = 0;
  double p_draw = 0.0;      ///< probability of a draw at an event
  double p_zero = 0.0;      ///< probability that a draw is exactly 0; else Uniform(-1, 1)
  uint64_t decided_ns = 0;  ///< CLOCK_MONOTONIC; the timestamp of the event decided on
  uint64_t applied_ns = 0;  ///< CLOCK_MONOTONIC, after the system call
  bool applied = false;     ///< the kernel took it
  int32_t nice = 0;         ///< as read back
  uint64_t slice_ns = 0;    ///< as read back; 0 where the kernel has none
};

/// Events were lost: no history goes on across it.
struct GapRecord {
  uint64_t at_ns = 0;
  uint64_t count = 0;
};

/// Takes the records of a file in order.
class KxrVisitor {
 public:
  virtual ~KxrVisitor() = default;
  virtual void OnEvent(const SchedEvent& event) = 0;
  virtual void OnNudge(const NudgeRecord& /*nudge*/) {}
  virtual void OnGap(const GapRecord& /*gap*/) {}
};

struct KxrStats {
  uint64_t events = 0;
  uint64_t nudges = 0;
  uint64_t gaps = 0;
  uint64_t lost = 0;   ///< events lost in the gaps
  uint64_t bytes = 0;  ///< written or read
  bool torn = false;   ///< reading: the last frame is not whole (the recorder was killed)
};

/// Writes a recording. A frame goes to disk when a thousand records are there, or at `Flush` (call
/// it once a second). The file is readable at every moment after construction.
class KxrWriter {
 public:
  /// `about`: free-form provenance (kernel release, machine, rung, options). Throws kFile when the
  /// file exists (never overwritten) or cannot be made.
  KxrWriter(const std::string& path, const std::map<std::string, std::string>& about);
  ~KxrWriter();
  KxrWriter(const KxrWriter&) = delete;
  KxrWriter& operator=(const KxrWriter&) = delete;
  void Event(const SchedEvent& event);
  void Nudge(const NudgeRecord& nudge);
  void Gap(const GapRecord& gap);
  /// Throws kFile on a full disk; what was written before stays readable.
  void Flush();
  /// Flush, end marker, fsync. A file without the marker reads as `torn`.
  void Close();
  [[nodiscard]] const KxrStats& stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether the file begins as a recording does; false as well when it cannot be read.
[[nodiscard]] bool IsKxr(const std::string& path);

/// Reads a recording from its begin. Throws kBadInput for what is no recording, a newer version or
/// a broken frame in the middle (naming its offset); a torn end is only said in the stats.
KxrStats ReadKxr(const std::string& path, KxrVisitor& visitor,
                 std::map<std::string, std::string>* about = nullptr);

}  // namespace kernelx
