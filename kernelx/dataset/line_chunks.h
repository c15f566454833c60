// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// A text file cut into chunks of whole lines, read by one thread at a time, parsed by several and
// consumed in file order. Chunks depend on the bytes only, never on the threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernelx/dataset/byte_source.h"
#include "kernelx/ground/parallel.h"

namespace kernelx {

/// Some consecutive lines. `kPadding` readable bytes follow the text, as the JSON parser needs.
class TextChunk {
 public:
  static constexpr size_t kPadding = 64;

  [[nodiscard]] std::string_view text() const { return {data_.get(), size_}; }
  [[nodiscard]] bool is_first() const { return is_first_; }
  [[nodiscard]] bool is_last() const { return is_last_; }
  /// The text is part of one line longer than `kMaxLineBytes`...
  [[nodiscard]] bool is_piece() const { return is_piece_; }
  /// ...and ends it, with or without a newline.
  [[nodiscard]] bool ends_piece() const { return ends_piece_; }

 private:
  friend class LineChunker;
  void Grow(size_t capacity);

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
  bool is_first_ = false;
  bool is_last_ = false;
  bool is_piece_ = false;
  bool ends_piece_ = false;
};

/// Cuts a source into chunks of about 1 MiB that end at a line's end. A line longer than
/// `kMaxLineBytes` comes in pieces, so that memory stays bounded.
class LineChunker {
 public:
  explicit LineChunker(ByteSource& source) : source_(source) {}
  /// Fills `chunk`, reusing its memory. Must not be called after the last chunk.
  void Next(TextChunk& chunk);
  /// Bytes handed out so far.
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  ByteSource& source_;
  std::string carry_;  // the beginning of the line the last chunk was cut before
  bool first_ = true;
  bool in_long_line_ = false;
  uint64_t bytes_ = 0;
};

/// Parsers on loan, so that a thread finds one with its memory in place. Thread-safe.
template <typename Parser>
class ParserPool {
 public:
  class Loan {
   public:
    Loan(ParserPool& pool, std::unique_ptr<Parser> parser)
        : pool_(pool), parser_(std::move(parser)) {}
    ~Loan() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.idle_.push_back(std::move(parser_));
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Parser* operator->() const { return parser_.get(); }
    Parser& operator*() const { return *parser_; }

   private:
    ParserPool& pool_;
    std::unique_ptr<Parser> parser_;
  };

  Loan Borrow() {
    std::unique_ptr<Parser> parser;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        parser = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (parser == nullptr) parser = std::make_unique<Parser>();
    return Loan(*this, std::move(parser));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Parser>> idle_;
};

/// The machine behind `ForEachChunk`.
template <typename Result, typename Parse, typename Consume>
class ChunkPipeline {
 public:
  ChunkPipeline(LineChunker& chunker, unsigned threads, Parse& parse, Consume& consume)
      : chunker_(chunker), parse_(parse), consume_(consume), slots_(2 * threads + 1) {
    for (unsigned t = 0; t < threads; ++t) pool_.emplace_back([this] { Work(); });
  }
  ~ChunkPipeline() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  void Run() {
    for (bool last = false; !last;) {
      Slot& slot = slots_[consumed_ % slots_.size()];
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return slot.ready; });
      }
      if (slot.error) std::rethrow_exception(slot.error);
      last = slot.chunk.is_last();
      consume_(slot.chunk, slot.result);
      const std::lock_guard lock(mutex_);
      slot.ready = false;
      ++consumed_;
      changed_.notify_all();
    }
  }

 private:
  struct Slot {
    TextChunk chunk;
    Result result{};
    std::exception_ptr error;
    bool ready = false;
  };

  void Work() {
    while (Slot* slot = ReadNext()) {
      if (!slot->error) {
        try {
          parse_(slot->chunk, slot->result);
        } catch (...) {
          slot->error = std::current_exception();
        }
      }
      const std::lock_guard lock(mutex_);
      slot->ready = true;
      changed_.notify_all();
    }
  }

  /// The next chunk in a free slot, or null when there is no more to read.
  Slot* ReadNext() {
    const std::lock_guard reading(reading_);
    Slot* slot = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_ || read_ - consumed_ < slots_.size(); });
      if (ended_) return nullptr;
      slot = &slots_[read_++ % slots_.size()];
    }
    try {
      chunker_.Next(slot->chunk);
    } catch (...) {
      slot->error = std::current_exception();
    }
    if (slot->error || slot->chunk.is_last()) {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    return slot;
  }

  LineChunker& chunker_;
  Parse& parse_;
  Consume& consume_;
  std::vector<Slot> slots_;
  std::mutex reading_;  // held while the source is read, so that slots follow the file
  std::mutex mutex_;    // guards what follows and each slot's `ready`
  std::condition_variable changed_;
  uint64_t read_ = 0;
  uint64_t consumed_ = 0;
  bool ended_ = false;
  std::vector<std::jthread> pool_;  // last: joins before the rest goes
};

/// Runs `parse(chunk, result)` on `threads` threads and `consume(chunk, result)` on the calling
/// thread in file order. Chunks and results are recycled: `parse` must clear what it finds. An
/// exception of the source or of `parse` surfaces in its turn, after all earlier chunks.
template <typename Result, typename Parse, typename Consume>
void ForEachChunk(LineChunker& chunker, unsigned threads, Parse parse, Consume consume) {
  threads = ThreadCount(threads);
  if (threads > 1) {
    ChunkPipeline<Result, Parse, Consume>(chunker, threads, parse, consume).Run();
    return;
  }
  TextChunk chunk;
  Result result{};
  do {
    chunker.Next(chunk);
    parse(chunk, result);
    consume(chunk, result);
  } while (!chunk.is_last());
}

}  // namespace kernelx
