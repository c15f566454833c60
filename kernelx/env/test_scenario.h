// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Datasets and scenarios for tests: the bundled sample, the seed's vectors, rows made by hand.
#pragma once

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "kernelx/dataset/builder.h"
#include "kernelx/dataset/reader.h"
#include "kernelx/env/scenario.h"
#include "kernelx/env/vector_env.h"
#include "kernelx/preprocess/feature_set.h"
#include "kernelx/preprocess/test_recording.h"

namespace kernelx {

/// data/sample: some 3,000 real rows with the extended features.
inline const Dataset& Sample() {
  static const Dataset sample =
      LoadDataset(KERNELX_DATA_DIR "/sample/test.jsonl.zst", {.use_cache = false});
  return sample;
}

/// The `rows` of the seed vectors as a dataset like the seed's files: no sidecar, no extra key.
inline const Dataset& SeedRows() {
  static const Dataset dataset = [] {
    DatasetBuilder builder(SeedFeatureNames());
    for (const auto& row : SeedVectors()["rows"]) {
      builder.Append(Row{.state = row["state"],
                         .next_state = row["next_state"],
                         .action = row["action"],
                         .reward = row["reward"],
                         .pid = row["pid"],
                         .cpu = row["cpu"],
                         .timestamp_ns = row["timestamp"],
                         .delta = {},
                         .behavior = {},
                         .applied = {},
                         .comm = ""});
    }
    builder.set_source("seed-vectors.json");
    return std::move(builder).Build();
  }();
  return dataset;
}

/// What a row made by hand says; the seed's features follow from it.
struct HandRow {
  int32_t pid = 1;
  uint64_t us = 0;       ///< of the event
  uint64_t next_us = 0;  ///< of the task's next event
  uint64_t exec_ns = 0;  ///< counter at the event
  uint64_t next_exec_ns = 0;
  uint64_t wait_us = 0;
  uint64_t next_wait_us = 0;
  double action = 0.0;
  uint64_t start_ns = 0;
};

inline Row MakeRow(const HandRow& hand) {
  const auto state = [](uint64_t exec_ns, uint64_t wait_us) {
    std::vector<double> values(10, 0.0);
    values[4] = Symlog(static_cast<double>(exec_ns));
    values[9] = static_cast<double>(wait_us);
    return values;
  };
  return {.state = state(hand.exec_ns, hand.wait_us),
          .next_state = state(hand.next_exec_ns, hand.next_wait_us),
          .action = hand.action,
          .reward = static_cast<double>(hand.wait_us) - static_cast<double>(hand.next_wait_us),
          .pid = hand.pid,
          .cpu = 0,
          .timestamp_ns = hand.us * 1000,
          .next_timestamp_ns = hand.next_us * 1000,
          .start_ns = hand.start_ns,
          .delta = {.exec_ns = hand.next_exec_ns - hand.exec_ns,
                    .wait_us = hand.wait_us,
                    .next_wait_us = hand.next_wait_us},
          .behavior = {},
          .applied = {},
          .comm = ""};
}

inline constexpr uint32_t kExactColumns =
    ColumnBits(Column::kNextTimestamp, Column::kDelta, Column::kStart);

inline Dataset HandData(const std::vector<HandRow>& rows, uint32_t columns = kExactColumns) {
  DatasetBuilder builder(SeedFeatureNames(), columns);
  for (const HandRow& row : rows) builder.Append(MakeRow(row));
  builder.set_source("hand.jsonl");
  return std::move(builder).Build();
}

/// `count` consecutive transitions of one task, each 1 ms apart with 100 us of CPU; the wait before
/// event k is 10 k us.
inline std::vector<HandRow> OneTask(size_t count, int32_t pid = 1) {
  std::vector<HandRow> rows;
  for (uint64_t k = 0; k < count; ++k) {
    rows.push_back({.pid = pid,
                    .us = 1000 * (k + 1),
                    .next_us = 1000 * (k + 2),
                    .exec_ns = 100'000 * k,
                    .next_exec_ns = 100'000 * (k + 1),
                    .wait_us = 10 * k,
                    .next_wait_us = 10 * (k + 1)});
  }
  return rows;
}

inline std::shared_ptr<const Scenario> MakeScenario(Dataset dataset,
                                                    const ScenarioOptions& options) {
  return std::make_shared<const Scenario>(std::move(dataset), options);
}

/// Term of slot `i` by name.
inline double TermOf(const VectorEnv& env, std::string_view name, size_t i = 0) {
  const auto terms = env.scenario().reward().terms();
  const auto found = std::ranges::find(terms, name);
  EXPECT_NE(found, terms.end()) << name;
  return env.term(static_cast<size_t>(found - terms.begin()))[i];
}

/// Equal to 1e-9 relative, as the seed's numbers are promised.
inline void ExpectSeedNumber(double actual, double expected, const std::string& what) {
  EXPECT_LE(std::abs(actual - expected), 1e-9 * std::abs(expected)) << what;
}

}  // namespace kernelx
