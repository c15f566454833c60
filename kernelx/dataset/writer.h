// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Writing rows as JSONL. Doubles are the shortest text that reads back to the same bits, whole
// numbers are bare, 64-bit integers exact. Files appear whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernelx/dataset/dataset.h"
#include "kernelx/dataset/transition.h"

namespace kernelx {

/// Text into a file, compressed as the suffix says (.gz, .xz, .zst; anything else plain). The
/// compressed bytes depend on nothing but the text.
class TextWriter {
 public:
  /// Throws kFile when the folder cannot be written.
  explicit TextWriter(const std::string& path);
  ~TextWriter();
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  void Write(std::string_view text);
  /// Finishes the stream and brings it to the disk, still under a temporary name.
  void Stage();
  /// Stage, and let the file appear.
  void Commit();

  class Encoder;

 private:
  std::unique_ptr<Encoder> encoder_;
};

/// Appends one line (with its newline) to `out`. `columns`, a union of `Column` bits, says which of
/// `next_timestamp`, `start` and `delta` to write; `behavior` and `applied` are written when
/// known, `comm` when not empty. Allocates only to grow `out`.
void AppendProcessed(const Row& row, uint32_t columns, std::string& out);
void AppendRaw(const RawTransition& row, std::string& out);

/// The same for many rows: format on several threads, write in order.
std::string FormatProcessed(std::span<const Row> rows, uint32_t columns);
std::string FormatRaw(std::span<const RawTransition> rows);

/// A processed file, row by row.
class ProcessedWriter {
 public:
  ProcessedWriter(const std::string& path, uint32_t columns) : file_(path), columns_(columns) {}
  void Append(const Row& row);
  /// Takes lines made by `FormatProcessed`.
  void AppendText(std::string_view lines);
  /// See `TextWriter`.
  void Stage();
  void Commit();

 private:
  TextWriter file_;
  uint32_t columns_;
  std::string buffer_;
};

/// A raw file, row by row.
class RawWriter {
 public:
  explicit RawWriter(const std::string& path) : file_(path) {}
  void Append(const RawTransition& row);
  void AppendText(std::string_view lines);
  void Commit();

 private:
  TextWriter file_;
  std::string buffer_;
};

}  // namespace kernelx
