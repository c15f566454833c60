// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/audit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernelx/dataset/builder.h"
#include "kernelx/dataset/test_files.h"
#include "kernelx/dataset/writer.h"

namespace kernelx {
namespace {

/// A row of task (pid, start) from `begin` to `end` with CPU time counters.
RawTransition MakeRow(int32_t pid, uint64_t start, uint64_t begin, uint64_t end, uint64_t exec,
                      uint64_t next_exec) {
  RawTransition row;
  row.state.pid = row.next.pid = pid;
  row.state.features[kSlotStartNs] = row.next.features[kSlotStartNs] = start;
  row.state.timestamp_ns = begin;
  row.next.timestamp_ns = end;
  row.state.features[kSlotExecNs] = exec;
  row.next.features[kSlotExecNs] = next_exec;
  return row;
}

TEST(AuditFile, CountsWhatMaySurprise) {
  std::vector<RawTransition> rows = {
      MakeRow(1, 10, 100, 200, 0, 5),  MakeRow(1, 10, 200, 300, 5, 9),
      MakeRow(2, 11, 200, 250, 0, 1),   // at the time of the row before
      MakeRow(2, 11, 190, 180, 1, 2),   // earlier, a gap, ends before it begins
      MakeRow(1, 77, 400, 500, 3, 2),   // pid 1 again, another task; counter resets
      MakeRow(1, 10, 300, 900, 4, 10),  // task 1/10 goes on; its counter went back from 9 to 4
  };
  rows[0].action = -1.0;
  rows[1].action = 1.0;
  rows[2].action = -1.5;
  rows[3].action = 2.0;
  rows[0].next.pid = 3;
  rows[1].reward = 5;
  for (size_t i = 0; i < 3; ++i) {
    rows[i].behavior = {.known = true, .drawn = i < 2, .window = static_cast<uint32_t>(i / 2)};
    rows[i].applied = {.known = true, .in_force = i == 1};
  }
  rows[1].behavior.mode = DrawMode::kGroup;
  rows[4].comm = "x";
  const TempFolder folder;
  const Audit audit = AuditFile(folder.Write("a.jsonl", FormatRaw(rows)), {.threads = 2});
  EXPECT_EQ(audit.form, FileForm::kRaw);
  EXPECT_EQ(audit.rows, 6U);
  EXPECT_EQ(audit.tasks, 3U);
  EXPECT_EQ(audit.pids, 2U);
  EXPECT_EQ(audit.reused_pids, 1U);
  EXPECT_EQ(audit.first_ns, 100U);
  EXPECT_EQ(audit.last_ns, 900U);
  EXPECT_EQ(audit.equal_times, 1U);
  EXPECT_EQ(audit.backward_times, 2U);
  EXPECT_EQ(audit.backward_pairs, 1U);
  EXPECT_EQ(audit.gaps, 1U);
  EXPECT_EQ(audit.counter_resets, 2U);
  EXPECT_EQ(audit.mixed_pairs, 1U);
  EXPECT_EQ(audit.reward_mismatches, 1U);
  EXPECT_EQ(audit.zero_actions, 2U);
  EXPECT_EQ(audit.action_bins[0], 1U);
  EXPECT_EQ(audit.action_bins[10], 2U);
  EXPECT_EQ(audit.action_bins[20], 1U);
  EXPECT_EQ(audit.actions_below, 1U);
  EXPECT_EQ(audit.actions_above, 1U);
  EXPECT_EQ(audit.behavior_known, 3U);
  EXPECT_EQ(audit.draws, 2U);
  EXPECT_EQ(audit.draws_in_force, 1U);
  EXPECT_EQ(audit.group_draws, 1U);
  EXPECT_EQ(audit.windows, 2U);
  ASSERT_EQ(audit.comms.size(), 2U);
  EXPECT_EQ(audit.comms[0].name, "");
  EXPECT_EQ(audit.comms[0].tasks, 2U);
  EXPECT_EQ(audit.comms[0].draws, 2U);
  EXPECT_EQ(audit.comms[1].name, "x");
}

TEST(AuditFile, FeatureStatisticsAreThoseOfTheValues) {
  std::vector<RawTransition> rows(5, MakeRow(1, 1, 1, 2, 0, 0));
  const uint64_t values[] = {0, 0, 18446744073709551615U, 9007199254740993U, 4};
  const uint64_t waits[] = {2, 4, 4, 6, 9};
  for (size_t i = 0; i < 5; ++i) {
    rows[i].state.features[kSlotVruntimeNs] = values[i];
    rows[i].state.features[kSlotWaitUs] = waits[i];
  }
  const TempFolder folder;
  const Audit audit = AuditFile(folder.Write("a.jsonl", FormatRaw(rows)));
  const FeatureAudit& vruntime = audit.features[kSlotVruntimeNs];
  EXPECT_EQ(vruntime.name, "vrt");
  EXPECT_EQ(vruntime.exact_max, 18446744073709551615U);
  EXPECT_EQ(vruntime.zeros, 2U);
  EXPECT_EQ(vruntime.distinct, 4U);
  const FeatureAudit& wait = audit.features[kSlotWaitUs];
  EXPECT_EQ(wait.min, 2.0);
  EXPECT_EQ(wait.max, 9.0);
  EXPECT_DOUBLE_EQ(wait.mean, 5.0);
  EXPECT_DOUBLE_EQ(wait.sd, std::sqrt(5.6));  // (9 + 1 + 1 + 1 + 16) / 5
  EXPECT_EQ(wait.distinct, 4U);
  EXPECT_EQ(wait.zeros, 0U);
}

TEST(AuditFile, DistinctCountIsExactIntoTheMillion) {
  std::vector<RawTransition> rows(30000, MakeRow(1, 1, 1, 2, 0, 0));
  for (size_t i = 0; i < rows.size(); ++i) rows[i].state.features[7] = (i * 7919) % 20011;
  const TempFolder folder;
  const Audit audit = AuditFile(folder.Write("a.jsonl", FormatRaw(rows)));
  EXPECT_EQ(audit.features[7].distinct, 20011U);
  EXPECT_TRUE(audit.features[7].distinct_exact);
}

TEST(AuditFile, BundledRecordingIsAsDescribed) {
  const Audit audit = AuditFile(KERNELX_DATA_DIR "/interventional-b.jsonl.xz");
  EXPECT_EQ(audit.rows, 474430U);
  EXPECT_EQ(audit.tasks, 645U);
  EXPECT_EQ(audit.draws, 21062U);
  EXPECT_EQ(audit.draws_in_force, 14690U);
  EXPECT_EQ(audit.behavior_known, audit.rows);
  EXPECT_EQ(audit.gaps, 0U);
  EXPECT_EQ(audit.counter_resets, 0U);
  EXPECT_EQ(audit.reward_mismatches, 0U);
}

TEST(AuditFile, ProcessedFilesSayWhatTheyCannot) {
  const TempFolder folder;
  const Audit seed = AuditFile(folder.Write("a.jsonl", SeedLine()));
  EXPECT_EQ(seed.form, FileForm::kProcessed);
  EXPECT_FALSE(seed.gaps.has_value());
  EXPECT_TRUE(seed.optional_columns.empty());
  EXPECT_EQ(seed.features.size(), 10U);
  EXPECT_EQ(seed.features[9].name, "wt_us");
  EXPECT_EQ(seed.features[9].mean, 13.0);
  EXPECT_FALSE(seed.features[9].exact_min.has_value());
  const Audit full = AuditFile(folder.Write("b.jsonl", FullLine()));
  EXPECT_EQ(full.gaps, 0U);
  EXPECT_EQ(full.optional_columns.size(), 6U);
  EXPECT_EQ(full.draws, 1U);
  EXPECT_EQ(full.comms[0].name, "periodic");
}

}  // namespace
}  // namespace kernelx
