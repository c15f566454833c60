// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace kernelx::cli {
namespace {
constexpr int kBarWidth = 24;
}

Progress::Progress(std::string what, uint64_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(::isatty(STDERR_FILENO) == 1),
      begun_(Clock::now()),
      drawn_(begun_) {}

void Progress::Show(uint64_t done, const std::string& note) {
  const auto now = Clock::now();
  if (!started_) {  // what came before the first step is not part of the rate
    begun_ = now;
    first_ = done;
    started_ = true;
  }
  const auto pause = terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(5);
  if (now - drawn_ < pause && done < total_) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  const double rate = seconds > 0 ? static_cast<double>(done - first_) / seconds : 0.0;
  const double left = rate > 0 ? static_cast<double>(total_ - done) / rate : 0.0;
  const auto filled = static_cast<size_t>(kBarWidth * done / total_);
  fmt::print(stderr, "{}{} [{}{}] {}/{} {:.0f}/s, {:.0f} s left  {}{}", terminal_ ? "\r" : "",
             what_, std::string(filled, '#'), std::string(kBarWidth - filled, '.'), done, total_,
             rate, left, note, terminal_ ? "\x1b[K" : "\n");
}

void Progress::Finish() {
  if (terminal_ && started_) fmt::print(stderr, "\n");
}

}  // namespace kernelx::cli
