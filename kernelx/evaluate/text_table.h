// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelx {

constexpr size_t kTextWidth = 80;

/// Columns `text` takes on a terminal: code points of UTF-8 (no wide characters are expected).
size_t TextColumns(std::string_view text);

/// `text` cut to `columns`, with an ellipsis in place of its beginning (of a path the end matters).
/// Control characters become "?".
std::string Shorten(std::string_view text, size_t columns);

/// Lines of at most `kTextWidth` columns, each behind `indent`; a longer word is broken.
std::string Wrap(std::string_view text, std::string_view indent);

/// A table of text. The first column is flush left, the others flush right, except those whose
/// header starts with '<' (not printed). Columns that do not fit in `kTextWidth` follow in a second
/// table below, under the first column again.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headers, std::string indent = "  ");
  /// As many cells as headers.
  void Add(std::vector<std::string> cells);
  [[nodiscard]] std::string Render() const;

 private:
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;  // the headers first
  std::string indent_;
};

}  // namespace kernelx
