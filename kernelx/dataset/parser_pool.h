// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace kernelx {

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

}  // namespace kernelx
