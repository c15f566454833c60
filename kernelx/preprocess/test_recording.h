// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Recordings for tests: the bundled ones in part, and events made by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/transition.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"

namespace kernelx {

/// The first `count` rows of a bundled recording, e.g. "interventional-a.jsonl.xz".
inline std::vector<RawTransition> FirstRows(const std::string& name, size_t count) {
  struct Enough {};
  std::vector<RawTransition> rows;
  try {
    ReadRawChunks(KERNELX_DATA_DIR "/" + name, {}, [&](std::span<RawTransition> chunk) {
      for (RawTransition& row : chunk.first(std::min(chunk.size(), count - rows.size()))) {
        rows.push_back(std::move(row));
      }
      if (rows.size() == count) throw Enough{};
    });
  } catch (const Enough&) {
  }
  EXPECT_EQ(rows.size(), count);
  return rows;
}

/// tests/data/seed-vectors.json: inputs and outputs of an independent implementation of the seed.
inline const nlohmann::json& SeedVectors() {
  static const auto vectors =
      nlohmann::json::parse(ReadFile(KERNELX_TESTDATA_DIR "/seed-vectors.json"));
  return vectors;
}

/// An event of task `pid` at `us`, with some slots set.
inline RawState Event(int32_t pid, uint64_t us,
                      std::initializer_list<std::pair<RawSlot, uint64_t>> slots = {}) {
  RawState event{.features = {}, .timestamp_ns = us * 1000, .pid = pid, .cpu = 0};
  for (const auto& [slot, value] : slots) event.features[slot] = value;
  return event;
}

/// The code and text of the kernelx::Error that `action` throws; fails the test when it does not.
template <typename Action>
std::string WhatOf(ErrorCode code, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace kernelx
