// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/reader.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "kernelx/dataset/builder.h"
#include "kernelx/dataset/cache.h"
#include "kernelx/dataset/line_reader.h"
#include "kernelx/dataset/row_parser.h"
#include "kernelx/dataset/sidecar.h"
#include "kernelx/ground/error.h"
#include "kernelx/record/kxr.h"

namespace kernelx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSplits[] = {"train", "val", "test"};
constexpr std::string_view kSuffixes[] = {".jsonl", ".jsonl.gz", ".jsonl.xz", ".jsonl.zst"};

struct ProcessedChunk {
  ChunkLines lines;
  std::optional<Columns> columns;
};

/// Parses the file; adds to `report`. A file without rows gives an empty dataset.
Dataset ParseFile(const std::string& path, const Sidecar& sidecar, const ReadOptions& options,
                  ReadReport& report) {
  const ProcessedShape& shape = sidecar.shape;
  const auto source = ByteSource::Open(path);
  LineChunker chunker(*source);
  LineLedger ledger(path, options.quarantine, report);
  ParserPool<ProcessedParser> parsers;
  DatasetBuilder builder(shape.feature_names);
  const uint64_t bad_before = report.bad;
  const auto parse = [&](const TextChunk& chunk, ProcessedChunk& result) {
    const auto parser = parsers.Borrow();
    if (!result.columns) result.columns.emplace(shape.feature_names.size());
    result.columns->Clear();
    ForEachLine(chunk, options.quarantine == nullptr, result.lines,
                [&](std::string_view line, LineFault& fault) {
                  RowView row;
                  if (!parser->Parse(line, shape, row, fault)) return false;
                  result.columns->Append(row);
                  return true;
                });
  };
  ForEachChunk<ProcessedChunk>(chunker, options.threads, parse,
                               [&](const TextChunk& chunk, ProcessedChunk& result) {
                                 ledger.Take(chunk, result.lines);
                                 builder.Append(*result.columns);
                               });
  for (const auto& [column, name] :
       {std::pair{Column::kNextTimestamp, "next_timestamp"}, std::pair{Column::kStart, "start"},
        std::pair{Column::kDelta, "delta"}}) {
    const size_t carrying = builder.columns().Count(column);
    if (carrying == 0 || carrying == builder.size()) continue;
    report.notes.push_back(fmt::format("{}: only {} of {} rows carry `{}`; it is left out", path,
                                       carrying, builder.size(), name));
  }
  builder.set_sidecar(sidecar.text);
  builder.set_source(path);
  builder.set_digest(HexDigest(source->Hash()));
  Dataset dataset = std::move(builder).Build();
  if (options.use_cache && report.bad == bad_before && !dataset.empty()) {
    DatasetCache::Write(path, dataset, source->FileBytes(), source->Hash());
  }
  return dataset;
}

Dataset LoadFile(const std::string& path, const Sidecar& sidecar, const ReadOptions& options,
                 ReadReport& report) {
  std::optional<Dataset> dataset;
  if (options.use_cache) {
    dataset = DatasetCache::Open(path, sidecar.text, sidecar.shape.feature_names, options.threads);
  }
  report.from_cache = report.from_cache && dataset.has_value();
  if (!dataset) dataset = ParseFile(path, sidecar, options, report);
  report.rows += dataset->size();
  return *std::move(dataset);
}

/// The split files of a folder, in order.
std::vector<std::string> SplitFiles(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto split : kSplits) {
    for (const auto suffix : kSuffixes) {
      const fs::path path = fs::path(folder) / fmt::format("{}{}", split, suffix);
      if (!fs::exists(path)) continue;
      files.push_back(path.string());
      break;
    }
  }
  if (files.empty()) {
    throw Error(ErrorCode::kFile,
                fmt::format("{}: the folder holds no train, val or test.jsonl; name a folder that "
                            "`kernelx preprocess` made, or a file",
                            folder));
  }
  return files;
}

Dataset LoadFolder(const std::string& path, const ReadOptions& options, ReadReport& report) {
  const Sidecar sidecar = ReadSidecar(path);
  const std::vector<std::string> files = SplitFiles(path);
  if (files.size() == 1) return LoadFile(files[0], sidecar, options, report);
  DatasetBuilder builder(sidecar.shape.feature_names);
  std::string digests;
  for (const auto& file : files) {
    const Dataset part = LoadFile(file, sidecar, options, report);
    digests += part.digest();
    builder.Append(part);
  }
  builder.set_sidecar(sidecar.text);
  builder.set_source(path);
  builder.set_digest(HexDigest(XXH3_64bits(digests.data(), digests.size())));
  return std::move(builder).Build();
}

}  // namespace

Dataset LoadDataset(const std::string& path, const ReadOptions& options, ReadReport* report) {
  ReadReport own;
  own.from_cache = true;
  Dataset dataset;
  if (fs::is_directory(path)) {
    dataset = LoadFolder(path, options, own);
  } else {
    dataset = LoadFile(path, ReadSidecar(fs::path(path).parent_path().string()), options, own);
  }
  if (dataset.empty()) FailNoRows(path, own);
  if (report != nullptr) *report = std::move(own);
  return dataset;
}

FileForm DetectForm(const std::string& path) {
  if (fs::is_directory(path)) return FileForm::kProcessed;
  if (IsKxr(path)) return FileForm::kRaw;
  const auto source = ByteSource::Open(path);
  LineChunker chunker(*source);
  TextChunk chunk;
  JsonLine json;
  std::optional<FileForm> form;
  std::string first_fault;
  uint64_t lines_before = 0;
  do {
    chunker.Next(chunk);
    ChunkLines lines;
    const auto look = [&](std::string_view line, LineFault& fault) {
      if (form) return true;
      simdjson::dom::object object;
      if (!json.Parse(line, object, fault)) return false;
      simdjson::dom::element value;
      if (object.at_key("state_t").get(value) == simdjson::SUCCESS) form = FileForm::kRaw;
      if (object.at_key("state").get(value) == simdjson::SUCCESS) form = FileForm::kProcessed;
      return form.has_value() ||
             fault.Set(BadKind::kMissingKey,
                       "neither `state_t` (a raw transition) nor `state` (a processed one)");
    };
    ForEachLine(chunk, false, lines, look);
    if (first_fault.empty() && !lines.faulty.empty()) {
      first_fault = fmt::format("{}:{}: {}", path, lines_before + lines.faulty[0].line + 1,
                                lines.faulty[0].fault.why);
    }
    lines_before += lines.lines;
  } while (!form && !chunk.is_last());
  if (form) return *form;
  if (first_fault.empty()) FailNoRows(path, {});
  throw Error(ErrorCode::kBadInput,
              first_fault + "; no line of the file is a transition (see docs/format.md)");
}

}  // namespace kernelx
