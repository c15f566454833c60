// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Bad lines: why a line is one, and where it goes when reading goes on without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernelx/ground/file.h"

namespace kernelx {

/// Why a line is no row.
enum class BadKind : uint8_t {
  kNotJson,       ///< syntax, `NaN` and `Infinity` included
  kIncomplete,    ///< the last line, half-written
  kTwoValues,     ///< more than one JSON value on the line
  kWrongShape,    ///< JSON, but no object
  kFeatureCount,  ///< an array of features of another length
  kMissingKey,
  kWrongType,   ///< e.g. a string or a fraction where an integer belongs
  kOutOfRange,  ///< a number its place cannot hold: 2^64, -1, 1e999
  kDuplicateKey,
  kTooDeep,  ///< nested beyond `kMaxDepth`
  kNotUtf8,
  kTooLong,  ///< longer than `kMaxLineBytes`
};
inline constexpr size_t kBadKinds = 12;

inline constexpr size_t kMaxDepth = 64;
inline constexpr size_t kMaxLineBytes = size_t{4} << 20;

/// The word reports use, e.g. "not-json".
std::string_view BadKindName(BadKind kind);

/// Where bad lines go: `path` receives them byte for byte, `path`.why.jsonl one object a line
/// `{"file","line","kind","why"}` in the same order. Both appear at `Commit`, whole, even when
/// nothing was bad; without it neither does. One quarantine serves all files of a command.
class Quarantine {
 public:
  /// Throws kFile when the folder cannot be written.
  explicit Quarantine(const std::string& path);

  /// Sets a line aside; `text` is without its newline.
  void Add(std::string_view file, uint64_t line, BadKind kind, std::string_view why,
           std::string_view text);
  /// A line too long to hold arrives in pieces: `AddPiece` each, then `Add` with the last.
  void AddPiece(std::string_view text);

  void Commit();
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] const std::string& path() const { return lines_.path(); }

 private:
  AtomicFile lines_;
  AtomicFile reasons_;
  uint64_t count_ = 0;
};

}  // namespace kernelx
