// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/line_chunks.h"

#include <cstring>
#include <utility>

#include "kernelx/dataset/quarantine.h"

namespace kernelx {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

}  // namespace

void TextChunk::Grow(size_t capacity) {
  if (capacity <= capacity_) return;
  std::unique_ptr<char[]> grown(new char[capacity + kPadding]);
  if (size_ > 0) std::memcpy(grown.get(), data_.get(), size_);
  std::memset(grown.get() + capacity, 0, kPadding);
  data_ = std::move(grown);
  capacity_ = capacity;
}

void LineChunker::Next(TextChunk& chunk) {
  chunk.size_ = 0;
  size_t target = (carry_.size() / kChunkBytes + 1) * kChunkBytes;
  chunk.Grow(target);
  std::memcpy(chunk.data_.get(), carry_.data(), carry_.size());
  chunk.size_ = carry_.size();
  carry_.clear();

  constexpr size_t kNone = std::string_view::npos;
  bool ended = false;
  size_t newline = kNone;
  for (size_t searched = 0;; target += kChunkBytes) {
    chunk.Grow(target);
    chunk.size_ += source_.Read(chunk.data_.get() + chunk.size_, target - chunk.size_);
    ended = chunk.size_ < target;
    newline = in_long_line_ ? chunk.text().find('\n', searched) : chunk.text().rfind('\n');
    searched = chunk.size_;
    if (newline != kNone || ended || chunk.size_ > kMaxLineBytes) break;
  }

  chunk.is_piece_ = in_long_line_ || (newline == kNone && chunk.size_ > kMaxLineBytes);
  chunk.ends_piece_ = chunk.is_piece_ && (newline != kNone || ended);
  in_long_line_ = chunk.is_piece_ && !chunk.ends_piece_;
  // At the end of the file a last line without a newline goes along with the others.
  if (newline != kNone && (!ended || chunk.is_piece_)) {
    carry_.assign(chunk.text().substr(newline + 1));
    chunk.size_ = newline + 1;
  }
  chunk.is_first_ = std::exchange(first_, false);
  chunk.is_last_ = ended && carry_.empty();
  bytes_ += chunk.size_;
}

}  // namespace kernelx
