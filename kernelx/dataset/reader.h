// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Reading recordings (.kxr) and datasets: JSONL, plain or compressed with gzip, xz or zstd (told by
// content, not by suffix). A line that is not exactly a row is a bad line: the file is refused at
// the first one, or, with a quarantine, the line is set aside and counted. See docs/format.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernelx/dataset/dataset.h"
#include "kernelx/dataset/quarantine.h"
#include "kernelx/dataset/transition.h"

namespace kernelx {

struct ReadOptions {
  unsigned threads = 0;  ///< that parse; 0: one a core. The result does not depend on it
  Quarantine* quarantine = nullptr;  ///< takes the bad lines; without one, the first is an error
  bool use_cache = true;             ///< read and write the columnar cache beside a processed file
};

/// What a read met, summed over the files of a folder.
struct ReadReport {
  uint64_t rows = 0;
  uint64_t blank_lines = 0;
  uint64_t bad = 0;                               ///< lines set aside
  std::array<uint64_t, kBadKinds> bad_by_kind{};  ///< indexed by `BadKind`
  uint64_t bytes = 0;                             ///< of text, after decompression; 0 from a cache
  bool from_cache = false;                        ///< every file came from its cache
  std::vector<std::string> notes;  ///< e.g. an optional key that only some rows carry
};

/// The two kinds of file.
enum class FileForm { kRaw, kProcessed };

/// Tells the form by the keys of the first line that is a transition. Throws kBadInput when none is
/// or the file is empty, kFile when it cannot be read. A folder is kProcessed.
FileForm DetectForm(const std::string& path);

/// Reads raw transitions and hands them out in file order, some thousand at a time. `take` runs on
/// the calling thread while others parse ahead; the span is valid during the call and may be moved
/// from. Throws kBadInput for a bad line (without a quarantine), no rows at all, or a broken
/// compressed stream (always: what was lost cannot be counted); kFile for what the file system
/// refuses. Rows before the error have been handed out by then.
void ReadRawChunks(const std::string& path, const ReadOptions& options,
                   const std::function<void(std::span<RawTransition>)>& take,
                   ReadReport* report = nullptr);

/// All rows at once: about 520 bytes a row.
std::vector<RawTransition> ReadRaw(const std::string& path, const ReadOptions& options = {},
                                   ReadReport* report = nullptr);

/// Loads a processed file, or a folder: its train, val and test files, concatenated in that order.
/// `features.json` of the same folder names the features; without it a row has the seed's ten.
/// Throws as `ReadRawChunks`. An empty split of a folder is fine, a folder without rows is not.
Dataset LoadDataset(const std::string& path, const ReadOptions& options = {},
                    ReadReport* report = nullptr);

/// The seed's ten feature names, in column order.
const std::vector<std::string>& SeedFeatureNames();

}  // namespace kernelx
