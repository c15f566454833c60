// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/kxr_rows.h"

#include <gtest/gtest.h>

#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/recompress.h"
#include "kernelx/dataset/writer.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/testing.h"

namespace kernelx {
namespace {

SchedEvent At(uint64_t us, int32_t pid, uint64_t wait_us, uint64_t nice_prio = 120,
              uint64_t slice_ns = 1'400'000, uint64_t start = 7) {
  SchedEvent event;
  event.state.timestamp_ns = us * 1000;
  event.state.pid = pid;
  event.state.features[kSlotStaticPrio] = nice_prio;
  event.state.features[kSlotSliceNs] = slice_ns;
  event.state.features[kSlotWaitUs] = wait_us;
  event.state.features[kSlotStartNs] = start;
  event.comm = {'w', 'e', 'b'};
  return event;
}

std::vector<RawTransition> RowsOf(const std::string& path) {
  std::vector<RawTransition> rows;
  ReadKxrRows(path, [&](std::span<RawTransition> part) {
    rows.insert(rows.end(), part.begin(), part.end());
  });
  return rows;
}

TEST(KxrRowsTest, PairsTheEventsOfEachTaskWithTheActionBetween) {
  const TempFolder folder;
  const std::string path = folder.File("a.kxr");
  KxrWriter writer(path, {});
  const NudgeRecord draw{.pid = 1,
                         .start_ns = 7,
                         .action = -0.8,
                         .drawn = true,
                         .mode = 0,
                         .window = 3,
                         .p_draw = 0.1,
                         .p_zero = 0.15,
                         .decided_ns = 20'000,
                         .applied_ns = 20'400,
                         .applied = true,
                         .nice = -8,
                         .slice_ns = 170'000};
  writer.Event(At(10, 1, 5));
  writer.Event(At(12, 2, 50));
  writer.Event(At(20, 1, 9));
  writer.Nudge(draw);
  writer.Event(At(22, 2, 30));                    // another task, not touched
  writer.Event(At(30, 1, 9));                     // too soon: the draw is not in force
  writer.Event(At(40, 1, 2, 112, 170'000));       // standing, seen in the task
  writer.Event(At(41, 1, 3, 120, 1'400'000, 8));  // the pid again, another task
  writer.Close();

  const auto rows = RowsOf(path);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].state.timestamp_ns, 10'000u);
  EXPECT_EQ(rows[0].next.timestamp_ns, 20'000u);
  EXPECT_EQ(rows[0].reward, -4);
  EXPECT_EQ(rows[0].action, 0.0);
  EXPECT_FALSE(rows[0].behavior.drawn);
  EXPECT_FALSE(rows[0].applied.known);
  EXPECT_EQ(rows[0].comm, "web");

  EXPECT_EQ(rows[1].state.pid, 2);
  EXPECT_EQ(rows[1].action, 0.0);
  EXPECT_FALSE(rows[1].behavior.drawn);

  EXPECT_EQ(rows[2].state.timestamp_ns, 20'000u);
  EXPECT_EQ(rows[2].action, -0.8);
  EXPECT_TRUE(rows[2].behavior.drawn);
  EXPECT_EQ(rows[2].behavior.window, 3u);
  EXPECT_EQ(rows[2].behavior.p_draw, 0.1);
  EXPECT_TRUE(rows[2].applied.known);
  EXPECT_FALSE(rows[2].applied.in_force);
  EXPECT_EQ(rows[2].applied.at_ns, 20'400u);

  EXPECT_EQ(rows[3].action, -0.8);
  EXPECT_FALSE(rows[3].behavior.drawn) << "a standing row is no draw";
  EXPECT_TRUE(rows[3].applied.in_force);
}

TEST(KxrRowsTest, AGapEndsEveryHistory) {
  const TempFolder folder;
  const std::string path = folder.File("a.kxr");
  KxrWriter writer(path, {});
  writer.Event(At(10, 1, 5));
  writer.Event(At(20, 1, 5));
  writer.Gap({.at_ns = 21'000, .count = 4});
  writer.Event(At(30, 1, 5));
  writer.Event(At(40, 1, 5));
  writer.Flush();  // and no end mark
  const auto rows = RowsOf(path);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].state.timestamp_ns, 30'000u);
  ReadReport report;
  ReadRaw(path, {}, &report);
  ASSERT_EQ(report.notes.size(), 2u);
  EXPECT_NE(report.notes[0].find("4 events were lost"), std::string::npos);
  EXPECT_NE(report.notes[1].find("no end mark"), std::string::npos);
}

TEST(KxrRowsTest, TheSameRowsThroughJsonLines) {
  const TempFolder folder;
  const std::string path = folder.File("a.kxr");
  KxrWriter writer(path, {});
  for (uint64_t i = 0; i < 300; ++i) {
    writer.Event(At(10 + i, static_cast<int32_t>(1 + i % 3), i));
    if (i % 10 != 4) continue;
    writer.Nudge({.pid = static_cast<int32_t>(1 + i % 3),
                  .start_ns = 7,
                  .action = 0.25,
                  .drawn = i % 20 == 4,
                  .mode = 1,
                  .window = 2,
                  .p_draw = 0.1,
                  .p_zero = 0.15,
                  .decided_ns = (10 + i) * 1000,
                  .applied_ns = (10 + i) * 1000 + 7,
                  .applied = true,
                  .nice = 3,
                  .slice_ns = 2'000'000});
  }
  writer.Close();
  EXPECT_EQ(DetectForm(path), FileForm::kRaw);
  const std::string text = folder.File("a.jsonl.zst");
  EXPECT_EQ(Recompress(path, text).rows, 297u);
  EXPECT_EQ(FormatRaw(ReadRaw(text)), FormatRaw(ReadRaw(path)));
  EXPECT_THROW(Recompress(text, folder.File("b.kxr")), Error);
}

}  // namespace
}  // namespace kernelx
