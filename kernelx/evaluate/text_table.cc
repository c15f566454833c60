// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/text_table.h"

#include <algorithm>
#include <utility>

namespace kernelx {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kMostName = 30;

bool StartsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

void TrimRight(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::string Pad(const std::string& cell, size_t width, bool left) {
  const size_t columns = TextColumns(cell);
  const std::string blank(width > columns ? width - columns : 0, ' ');
  return left ? cell + blank : blank + cell;
}

}  // namespace

size_t TextColumns(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, StartsCodePoint));
}

std::string Shorten(std::string_view text, size_t columns) {
  std::string clean(text);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  size_t surplus = TextColumns(clean);
  if (surplus <= columns) return clean;
  surplus -= columns - 1;  // the ellipsis takes one
  size_t at = 0;
  while (at < clean.size() && (surplus > 0 || !StartsCodePoint(clean[at]))) {
    if (StartsCodePoint(clean[at])) --surplus;
    ++at;
  }
  return "\u2026" + clean.substr(at);
}

std::string Wrap(std::string_view text, std::string_view indent) {
  const size_t width = kTextWidth - TextColumns(indent);
  std::string out;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) out += std::string(indent) + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const size_t begin = text.find_first_not_of(" \n\t");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find_first_of(" \n\t"));
    text.remove_prefix(word.size());
    if (!line.empty() && TextColumns(line) + 1 + TextColumns(word) > width) flush();
    while (TextColumns(word) > width) {
      size_t cut = width;
      while (!StartsCodePoint(word[cut])) --cut;
      line = word.substr(0, cut);
      flush();
      word.remove_prefix(cut);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  flush();
  return out;
}

TextTable::TextTable(std::vector<std::string> headers, std::string indent)
    : indent_(std::move(indent)) {
  for (std::string& header : headers) {
    left_.push_back(left_.empty() || header.starts_with('<'));
    if (header.starts_with('<')) header.erase(0, 1);
  }
  rows_.push_back(std::move(headers));
}

void TextTable::Add(std::vector<std::string> cells) {
  cells.front() = Shorten(cells.front(), kMostName);
  rows_.push_back(std::move(cells));
}

std::string TextTable::Render() const {
  const size_t columns = left_.size();
  std::vector<size_t> width(columns, 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < columns; ++c) width[c] = std::max(width[c], TextColumns(row[c]));
  }
  std::string out;
  for (size_t first = 1; first < columns;) {
    size_t total = indent_.size() + width[0];
    size_t last = first;
    while (last < columns && (last == first || total + kGap + width[last] <= kTextWidth)) {
      total += kGap + width[last++];
    }
    if (first > 1) out += "\n";
    for (const auto& row : rows_) {
      std::string line = indent_ + Pad(row[0], width[0], true);
      for (size_t c = first; c < last; ++c) {
        line += std::string(kGap, ' ') + Pad(row[c], width[c], left_[c]);
      }
      TrimRight(line);
      out += line + "\n";
    }
    first = last;
  }
  return out;
}

}  // namespace kernelx
