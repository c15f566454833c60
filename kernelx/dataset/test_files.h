// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Files for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "kernelx/ground/error.h"
#include "kernelx/ground/testing.h"

namespace kernelx {

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The text with `from` replaced once by `to`; `from` must be there.
inline std::string Replace(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// What the action throws as kernelx::Error, or "".
template <typename Action>
std::string ErrorOf(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A raw line with every key; features are 1000 + slot before, 2000 + slot after.
inline std::string RawLine() {
  const auto state = [](int base, std::string_view timestamp) {
    std::string text = "{\"features\":[";
    for (int slot = 0; slot < 24; ++slot) {
      text += (slot > 0 ? "," : "") + std::to_string(base + slot);
    }
    return text + "],\"timestamp\":" + std::string(timestamp) + ",\"pid\":77,\"cpu\":1}";
  };
  return "{\"state_t\":" + state(1000, "5000000001") +
         ",\"action\":0.25,\"reward\":-1000,\"state_t_next\":" + state(2000, "5000000999") +
         ",\"behavior\":{\"drawn\":true,\"mode\":\"group\",\"window\":3,\"p_draw\":0.1,"
         "\"p_zero\":0.15},\"applied\":{\"nice\":-3,\"slice_ns\":1621760,\"at\":5000000500,"
         "\"in_force\":true},\"comm\":\"periodic\"}";
}

/// A processed line with the seed's keys only.
inline std::string SeedLine() {
  return R"({"state": [0.0, 120.0, 120.0, 120.0, 18.5, 28.25, 1.75, 2.0, 3.0, 13.0], )"
         R"("action": 0.055299, "reward": -54, )"
         R"("next_state": [1.0, 120.0, 120.0, 120.0, 18.5, 28.25, 1.75, 2.0, 6.0, 67.0], )"
         R"("pid": 16310, "cpu": 0, "timestamp": 5478348681503})";
}

/// The same with every optional key.
inline std::string FullLine() {
  return Replace(
      SeedLine(), "5478348681503}",
      R"(5478348681503, "next_timestamp": 5478351232168, "start": 5475031629559, )"
      R"("delta": {"exec_ns": 147616, "vruntime_ns": -83104, "wait_us": 13, "next_wait_us": 67, )"
      R"("voluntary": 1, "involuntary": 0, "sleep_us": 2343}, )"
      R"("behavior": {"drawn": true, "mode": "task", "window": 5, "p_draw": 0.1, "p_zero": 0.15}, )"
      R"("applied": {"nice": 1, "slice_ns": 1621760, "at": 5478351852341, "in_force": false}, )"
      R"("comm": "periodic"})");
}

}  // namespace kernelx
