// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kernelx {

/// Row indices of each split, in order of time.
struct Split {
  std::vector<size_t> train;
  std::vector<size_t> validation;
  std::vector<size_t> test;
  /// Rows that begin before a cut and end at or after it. They belong to no split: kept in either,
  /// one event would be seen from both sides of the cut.
  std::vector<size_t> embargoed;
  std::vector<std::string> warnings;  ///< e.g. a split that came out empty
};

/// Splits by time, never at random: rows are sorted by `timestamps_ns` (stable), the first
/// floor(0.8 n) are train, the next floor(0.1 n) validation, the rest test; then rows that cross a
/// cut are embargoed. The cut is the timestamp of the first row after it, so that every event of an
/// earlier split lies strictly before every event of a later one (given rows whose time runs
/// forward). `next_timestamps_ns` may be empty: then nothing can be embargoed, and a warning says
/// so. Throws kUsage when the two spans differ in length.
Split ChronologicalSplit(std::span<const uint64_t> timestamps_ns,
                         std::span<const uint64_t> next_timestamps_ns);

}  // namespace kernelx
