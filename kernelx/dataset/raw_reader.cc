// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "kernelx/dataset/kxr_rows.h"
#include "kernelx/dataset/line_reader.h"
#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/row_parser.h"

namespace kernelx {
namespace {

/// Rows keep their memory (and that of their names) from chunk to chunk.
struct RawChunk {
  ChunkLines lines;
  std::vector<RawTransition> rows;
  size_t count = 0;
};

void ReadRecording(const std::string& path,
                   const std::function<void(std::span<RawTransition>)>& take, ReadReport& report) {
  const KxrStats stats = ReadKxrRows(path, [&](std::span<RawTransition> rows) {
    report.rows += rows.size();
    take(rows);
  });
  report.bytes = stats.bytes;
  if (stats.lost > 0) {
    report.notes.push_back(fmt::format("{}: {} events were lost while recording, in {} gaps", path,
                                       stats.lost, stats.gaps));
  }
  if (stats.torn) {
    report.notes.push_back(
        fmt::format("{}: has no end mark (the recorder was killed, or still runs); all {} events "
                    "before are here",
                    path, stats.events));
  }
}

}  // namespace

void ReadRawChunks(const std::string& path, const ReadOptions& options,
                   const std::function<void(std::span<RawTransition>)>& take, ReadReport* report) {
  ReadReport own;
  if (IsKxr(path)) {
    ReadRecording(path, take, own);
    if (own.rows == 0) FailNoRows(path, own);
    if (report != nullptr) *report = std::move(own);
    return;
  }
  const auto source = ByteSource::Open(path);
  LineChunker chunker(*source);
  LineLedger ledger(path, options.quarantine, own);
  ParserPool<RawParser> parsers;
  const auto parse = [&](const TextChunk& chunk, RawChunk& result) {
    const auto parser = parsers.Borrow();
    result.count = 0;
    ForEachLine(chunk, options.quarantine == nullptr, result.lines,
                [&](std::string_view line, LineFault& fault) {
                  if (result.count == result.rows.size()) result.rows.emplace_back();
                  const bool good = parser->Parse(line, result.rows[result.count], fault);
                  result.count += good ? 1 : 0;
                  return good;
                });
  };
  ForEachChunk<RawChunk>(chunker, options.threads, parse,
                         [&](const TextChunk& chunk, RawChunk& result) {
                           // Rows first: those before a bad line are handed out.
                           own.rows += result.count;
                           if (result.count > 0) take(std::span(result.rows).first(result.count));
                           ledger.Take(chunk, result.lines);
                         });
  if (own.rows == 0) FailNoRows(path, own);
  if (report != nullptr) *report = std::move(own);
}

std::vector<RawTransition> ReadRaw(const std::string& path, const ReadOptions& options,
                                   ReadReport* report) {
  std::vector<RawTransition> rows;
  ReadRawChunks(
      path, options,
      [&](std::span<RawTransition> part) {
        rows.insert(rows.end(), std::make_move_iterator(part.begin()),
                    std::make_move_iterator(part.end()));
      },
      report);
  return rows;
}

}  // namespace kernelx
