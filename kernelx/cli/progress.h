// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace kernelx::cli {

/// A bar with rate and time left, on stderr; on a terminal it redraws a line, elsewhere it prints
/// one now and then.
class Progress {
 public:
  Progress(std::string what, uint64_t total);
  /// Call as often as you like: it draws a few times a second. `note` follows the bar.
  void Show(uint64_t done, const std::string& note);
  /// Ends the line.
  void Finish();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  uint64_t total_;
  uint64_t first_ = 0;
  bool started_ = false;
  bool terminal_;
  Clock::time_point begun_;
  Clock::time_point drawn_;
};

}  // namespace kernelx::cli
