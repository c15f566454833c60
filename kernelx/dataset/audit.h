// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// What a recording or dataset holds, and what in it may surprise: the facts behind
// `kernelx inspect`. Time that stands still or runs backwards, reused pids and broken chains are
// data, not errors; they are counted here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/dataset/reader.h"

namespace kernelx {

/// One column of states (`state_t`, `state`), over all rows.
struct FeatureAudit {
  std::string name;
  double min = 0.0;
  double max = 0.0;
  double mean = 0.0;
  double sd = 0.0;  ///< of the population; Welford's recurrence in file order
  /// Raw slots are integers; these are exact where a double is not.
  std::optional<uint64_t> exact_min;
  std::optional<uint64_t> exact_max;
  uint64_t zeros = 0;
  uint64_t distinct = 0;
  bool distinct_exact = true;  ///< counting stops at `kMostDistinct`
};
inline constexpr uint64_t kMostDistinct = uint64_t{1} << 20;

/// Rows, tasks and draws of one command name.
struct CommAudit {
  std::string name;
  uint64_t rows = 0;
  uint64_t tasks = 0;
  uint64_t draws = 0;
};

inline constexpr size_t kActionBins = 21;

struct Audit {
  std::string path;
  FileForm form = FileForm::kRaw;
  ReadReport read;
  std::vector<std::string> optional_columns;  ///< keys beyond the seed's that rows carry

  uint64_t rows = 0;
  uint64_t tasks = 0;  ///< pid and, where recorded, start time
  uint64_t pids = 0;
  uint64_t reused_pids = 0;  ///< pids seen with more than one start time

  uint64_t first_ns = 0;           ///< earliest timestamp
  uint64_t last_ns = 0;            ///< latest event, `next` included
  uint64_t equal_times = 0;        ///< rows with the timestamp of the row before
  uint64_t backward_times = 0;     ///< rows earlier than the row before
  uint64_t backward_pairs = 0;     ///< rows that end before they begin
  std::optional<uint64_t> gaps;    ///< rows that do not begin where the task's last row ended;
                                   ///< nothing when rows do not say when they end
  uint64_t counter_resets = 0;     ///< CPU time counters that ran backwards
  uint64_t mixed_pairs = 0;        ///< raw rows whose two ends differ in pid
  uint64_t reward_mismatches = 0;  ///< raw rows whose reward is not wait - next wait

  /// Bin i covers [-1 + 2 i / 21, -1 + 2 (i + 1) / 21), the last one 1 as well; exact zeros are in
  /// the middle bin and counted apart.
  std::array<uint64_t, kActionBins> action_bins{};
  uint64_t zero_actions = 0;
  uint64_t actions_below = 0;  ///< under -1
  uint64_t actions_above = 0;

  uint64_t behavior_known = 0;  ///< rows that carry their propensities
  uint64_t applied_known = 0;
  uint64_t draws = 0;
  uint64_t draws_in_force = 0;
  uint64_t group_draws = 0;  ///< the others are a task's own
  uint64_t windows = 0;      ///< distinct windows

  std::vector<CommAudit> comms;  ///< by rows, most first
  std::vector<FeatureAudit> features;
};

/// Reads the file (raw: streaming; processed file or folder: through `LoadDataset`) and counts.
/// Throws what `ReadRawChunks` and `LoadDataset` throw.
Audit AuditFile(const std::string& path, const ReadOptions& options = {});

/// Names of the 24 raw slots; those of the seed's ten features are the seed's.
const std::array<std::string, kRawFeatures>& RawSlotNames();

}  // namespace kernelx
