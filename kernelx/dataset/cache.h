// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The columnar cache of a processed file: `FILE.kxc` beside it, memory-mapped on the next open.
// It is never trusted when the source or the sidecar changed, and never needed: anything amiss
// means the source is read again. docs/format.md describes the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"

namespace kernelx {

class DatasetCache {
 public:
  static std::string PathFor(const std::string& source) { return source + ".kxc"; }

  /// The dataset of `source` (read with `sidecar` and `feature_names`) if its cache is there,
  /// whole, of this version, and made of exactly these bytes; else nothing. Hashes source and cache
  /// on up to `threads` threads (0: one a core). Throws nothing about the cache, kFile about the
  /// source.
  static std::optional<Dataset> Open(const std::string& source, const std::string& sidecar,
                                     const std::vector<std::string>& feature_names,
                                     unsigned threads);

  /// Writes the cache of a dataset read from `source`, whose bytes had this length and XXH3-64.
  /// Atomic; returns false, leaving nothing behind, when it cannot be written.
  static bool Write(const std::string& source, const Dataset& dataset, uint64_t source_bytes,
                    uint64_t source_hash);

 private:
  /// Calls `visit(section, column)` for each column of a dataset.
  template <typename AnyDataset, typename Visit>
  static void VisitColumns(AnyDataset& dataset, Visit&& visit);
};

/// XXH3-64 as the 16 hex digits of `Dataset::digest`.
std::string HexDigest(uint64_t hash);

}  // namespace kernelx
