// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What reading either form has in common: lines out of chunks, bad ones refused or set aside,
// everything counted, in file order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/dataset/json_line.h"
#include "kernelx/dataset/line_chunks.h"
#include "kernelx/dataset/reader.h"

namespace kernelx {

/// A line set aside by a parser, by its place in the chunk.
struct FaultyLine {
  uint64_t line = 0;  ///< from 0
  std::string_view text;
  LineFault fault;
};

/// What a chunk's lines came to, besides rows.
struct ChunkLines {
  uint64_t lines = 0;
  uint64_t blank = 0;
  std::vector<FaultyLine> faulty;
  void Clear();
};

/// Calls `parse(line, fault) -> bool` for each line of the chunk that is not blank, without its
/// line end and byte order mark; stops at the first bad line when `stop` says so.
template <typename Parse>
void ForEachLine(const TextChunk& chunk, bool stop, ChunkLines& lines, Parse&& parse);

/// Takes the chunks' lines in file order. One a file.
class LineLedger {
 public:
  LineLedger(std::string path, Quarantine* quarantine, ReadReport& report)
      : path_(std::move(path)), quarantine_(quarantine), report_(report) {}

  /// Throws kBadInput for the first bad line when there is no quarantine.
  void Take(const TextChunk& chunk, const ChunkLines& lines);

 private:
  void TakeBad(uint64_t line, std::string_view text, const LineFault& fault);

  std::string path_;
  Quarantine* quarantine_;
  ReadReport& report_;
  uint64_t lines_ = 0;        // before the current chunk
  uint64_t piece_bytes_ = 0;  // of the long line under way
};

template <typename Parse>
void ForEachLine(const TextChunk& chunk, bool stop, ChunkLines& lines, Parse&& parse) {
  lines.Clear();
  if (chunk.is_piece()) return;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::string_view rest = chunk.text();
  if (chunk.is_first() && rest.starts_with(kByteOrderMark)) {
    rest.remove_prefix(kByteOrderMark.size());
  }
  LineFault fault;
  for (; !rest.empty(); ++lines.lines) {
    const size_t newline = rest.find('\n');
    const std::string_view text = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) {
      ++lines.blank;
      continue;
    }
    if (parse(text, fault)) continue;
    lines.faulty.push_back({lines.lines, text, std::move(fault)});
    fault = {};
    if (stop) return;
  }
}

/// The error for a source without a single row.
[[noreturn]] void FailNoRows(const std::string& path, const ReadReport& report);

}  // namespace kernelx
