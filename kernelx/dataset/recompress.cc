// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/recompress.h"

#include <fmt/format.h>

#include <filesystem>

#include "kernelx/dataset/line_reader.h"
#include "kernelx/dataset/sidecar.h"
#include "kernelx/dataset/writer.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"
#include "kernelx/record/kxr.h"

namespace kernelx {
namespace {

namespace fs = std::filesystem;

/// A parser of either form that only says whether a line is a row.
struct RawCheck {
  RawParser parser;
  RawTransition row;
  bool operator()(std::string_view line, const ProcessedShape& /*shape*/, LineFault& fault) {
    return parser.Parse(line, row, fault);
  }
};
struct ProcessedCheck {
  ProcessedParser parser;
  RowView row;
  bool operator()(std::string_view line, const ProcessedShape& shape, LineFault& fault) {
    return parser.Parse(line, shape, row, fault);
  }
};

struct CopiedChunk {
  ChunkLines lines;
  std::string text;
  uint64_t rows = 0;
};

template <typename Check>
ReadReport Copy(const std::string& from, const std::string& to, const ProcessedShape& shape,
                const ReadOptions& options) {
  ReadReport report;
  const auto source = ByteSource::Open(from);
  LineChunker chunker(*source);
  LineLedger ledger(from, options.quarantine, report);
  ParserPool<Check> checks;
  TextWriter writer(to);
  const auto parse = [&](const TextChunk& chunk, CopiedChunk& result) {
    const auto check = checks.Borrow();
    result.text.clear();
    result.rows = 0;
    ForEachLine(chunk, options.quarantine == nullptr, result.lines,
                [&](std::string_view line, LineFault& fault) {
                  if (!(*check)(line, shape, fault)) return false;
                  if (line.ends_with('\r')) line.remove_suffix(1);
                  result.text.append(line).push_back('\n');
                  ++result.rows;
                  return true;
                });
  };
  ForEachChunk<CopiedChunk>(chunker, options.threads, parse,
                            [&](const TextChunk& chunk, CopiedChunk& result) {
                              ledger.Take(chunk, result.lines);
                              writer.Write(result.text);
                              report.rows += result.rows;
                            });
  if (report.rows == 0) FailNoRows(from, report);
  writer.Commit();
  return report;
}

/// A recording as JSONL.
ReadReport WriteRows(const std::string& from, const std::string& to, const ReadOptions& options) {
  ReadReport report;
  TextWriter writer(to);
  ReadRawChunks(
      from, options, [&](std::span<RawTransition> rows) { writer.Write(FormatRaw(rows)); },
      &report);
  writer.Commit();
  return report;
}

/// A processed file is only readable beside its features.json: takes it along, but never replaces
/// another one.
void CopySidecar(const Sidecar& sidecar, const std::string& to) {
  const std::string folder = fs::path(to).parent_path().string();
  const Sidecar there = ReadSidecar(folder);
  if (there.text == sidecar.text) return;
  const std::string path = (fs::path(folder) / "features.json").string();
  if (there.text.empty()) {
    WriteFileAtomically(path, sidecar.text);
    return;
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("{}: describes other features than the file to convert; write to another "
                          "folder",
                          path));
}

}  // namespace

ReadReport Recompress(const std::string& from, const std::string& to, const ReadOptions& options) {
  if (fs::is_directory(from)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}: is a folder; convert its files one by one", from));
  }
  std::error_code ignored;
  if (fs::equivalent(from, to, ignored)) {
    throw Error(ErrorCode::kUsage, fmt::format("{}: is input and output; name another output", to));
  }
  if (fs::path(to).extension() == ".kxr") {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}: a recording (.kxr) holds what only the kernel knew; it is made by "
                            "`kernelx record`",
                            to));
  }
  if (IsKxr(from)) return WriteRows(from, to, options);
  if (DetectForm(from) == FileForm::kRaw) return Copy<RawCheck>(from, to, {}, options);
  const Sidecar sidecar = ReadSidecar(fs::path(from).parent_path().string());
  CopySidecar(sidecar, to);
  return Copy<ProcessedCheck>(from, to, sidecar.shape, options);
}

}  // namespace kernelx
