// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/runqueue_recorder.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cmath>
#include <map>
#include <string>

#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/writer.h"
#include "kernelx/env/outcome.h"
#include "kernelx/env/runqueue_effect.h"
#include "kernelx/env/runqueue_episode.h"
#include "kernelx/ground/error.h"
#include "kernelx/preprocess/preprocess.h"

namespace kernelx {
namespace {

std::shared_ptr<const RunQueueLoad> Load(uint64_t seed) {
  return std::make_shared<const RunQueueLoad>(MixedLoad(seed));
}

TEST(RunQueueRecorder, DrawsFollowTheirLaw) {
  const auto rows = RecordRunQueue(Load(1), 1, 6.0, {.group_share = 0.0});
  double drawn = 0.0;
  double zero = 0.0;
  double in_force = 0.0;
  double sum = 0.0;
  double squares = 0.0;
  for (const RawTransition& row : rows) {
    if (!row.behavior.drawn) continue;
    drawn += 1.0;
    zero += row.action == 0.0 ? 1.0 : 0.0;
    in_force += row.applied.in_force ? 1.0 : 0.0;
    sum += row.action;
    squares += row.action * row.action;
  }
  const auto n = static_cast<double>(rows.size());
  EXPECT_GT(drawn, 5000.0);
  EXPECT_NEAR(drawn / n, 0.1, 0.005);
  EXPECT_NEAR(zero / drawn, 0.15, 0.02);
  EXPECT_NEAR(sum / drawn, 0.0, 0.03);
  EXPECT_NEAR(squares / drawn, 0.85 / 3.0, 0.015);
  EXPECT_NEAR(in_force / drawn, 0.8, 0.1);
}

TEST(RunQueueRecorder, AGroupHasOneActionAWindow) {
  const auto rows = RecordRunQueue(Load(2), 2, 6.0, {.group_share = 1.0});
  std::map<std::pair<std::string, uint32_t>, double> actions;
  size_t drawn = 0;
  for (const RawTransition& row : rows) {
    EXPECT_EQ(row.behavior.mode, DrawMode::kGroup);
    if (!row.behavior.drawn) continue;
    ++drawn;
    const auto key = std::pair(row.comm, row.behavior.window);
    EXPECT_EQ(actions.try_emplace(key, row.action).first->second, row.action);
  }
  EXPECT_GE(actions.size(), 12U);
  EXPECT_GT(drawn, actions.size());
}

TEST(RunQueueRecorder, StandingActionsAreTheLastOneSet) {
  const auto rows = RecordRunQueue(Load(3), 3, 2.0);
  std::map<int32_t, double> standing;
  for (const RawTransition& row : rows) {
    const auto last = standing.find(row.state.pid);
    if (last != standing.end() && !row.behavior.drawn) {
      EXPECT_EQ(row.action, last->second);
    }
    standing[row.state.pid] = row.action;
    EXPECT_EQ(row.applied.nice, SettingOf(row.action).nice);
  }
}

TEST(RunQueueRecorder, WithoutInterventionNothingIsDrawn) {
  for (const RawTransition& row : RecordRunQueue(Load(3), 3, 0.5, {.off = true})) {
    EXPECT_FALSE(row.behavior.drawn);
    EXPECT_EQ(row.action, 0.0);
    EXPECT_EQ(row.next.features[kSlotStaticPrio], 120U);
  }
}

TEST(RunQueueRecorder, TheFileReadsBackAsItWas) {
  const auto rows = RecordRunQueue(Load(4), 4, 0.2);
  const std::string path =
      testing::TempDir() + "/runqueue-" + std::to_string(::getpid()) + ".jsonl.zst";
  RawWriter writer(path);
  writer.AppendText(FormatRaw(rows));
  writer.Commit();
  const auto back = ReadRaw(path);
  ASSERT_EQ(back.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(back[i].state.features, rows[i].state.features);
    EXPECT_EQ(back[i].next.timestamp_ns, rows[i].next.timestamp_ns);
    EXPECT_EQ(back[i].action, rows[i].action);
    EXPECT_EQ(back[i].behavior.drawn, rows[i].behavior.drawn);
    EXPECT_EQ(back[i].applied.in_force, rows[i].applied.in_force);
    EXPECT_EQ(back[i].comm, rows[i].comm);
  }
}

TEST(RunQueueRecorder, ALawThatIsNoneIsRefused) {
  EXPECT_THROW(RunQueueRecorder(Load(1), 1, {.p_draw = 1.5}), Error);
  EXPECT_THROW(RunQueueRecorder(Load(1), 1, {.window_s = 0.0}), Error);
}

TEST(RunQueueEpisode, ALoggedDecisionEndsAsRecorded) {
  const ExploreLaw law{.group_share = 0.0};
  const auto rows = RecordRunQueue(Load(5), 5, 1.0, law);
  const Dataset data = ExtractFeatures(rows, FeatureSet::Extended(), "test");
  const Trajectories trajectories(data, Order::kTask);
  RunQueueEpisode episode(Load(5), 5, law, FeatureSet::Extended());
  for (int n = 0; n < 20; ++n) {
    episode.ToDraw();
    RunQueueEpisode copy = episode;
    const double action = episode.logged_action();
    const Outcome simulated = copy.Decide(action, 5);
    bool found = false;
    for (uint32_t row = 0; row < data.size() && !found; ++row) {
      if (data.timestamp_ns()[row] != static_cast<uint64_t>(episode.machine().now_ns()) ||
          data.pid()[row] != static_cast<int32_t>(1000 + episode.task())) {
        continue;
      }
      found = true;
      const Outcome recorded = OutcomeAt(data, trajectories, row, 5);
      EXPECT_EQ(data.action()[row], action);
      EXPECT_EQ(simulated.events, recorded.events);
      EXPECT_NEAR(simulated.exec_us, recorded.exec_us, 1e-6);
      EXPECT_NEAR(simulated.dt_us, recorded.dt_us, 1e-6);
      EXPECT_NEAR(simulated.log_wait, recorded.log_wait, 1e-12);
      EXPECT_NEAR(simulated.log_slowdown, recorded.log_slowdown, 1e-12);
    }
    EXPECT_TRUE(found);
  }
}

TEST(RunQueueEpisode, CopiesShareLuckAndOtherLuckDiffers) {
  RunQueueEpisode episode(Load(6), 6, {.group_share = 0.0}, FeatureSet::Extended());
  episode.ToDraw();
  RunQueueEpisode same = episode;
  RunQueueEpisode other = episode;
  other.Reseed(99);
  const Outcome a = episode.Decide(-0.5, 5);
  EXPECT_EQ(a.dt_us, same.Decide(-0.5, 5).dt_us);
  EXPECT_TRUE(std::ranges::equal(episode.features(), same.features()));
  EXPECT_NE(a.dt_us, other.Decide(-0.5, 5).dt_us);
}

TEST(RunQueueEffect, PointsWhereTheRecordingsPoint) {
  // The recordings: 2.0 (periodic), 1.6 to 1.9 (server), 2.2 to 2.5 (messaging), 0.9 (hog), and
  // shares that fall as the action rises (docs/runqueue.md).
  const auto rows = RecordRunQueue(Load(1), 1, 12.0, {.group_share = 0.0});
  std::map<std::string, ActionEffect> effects;
  for (const ActionEffect& e : MeasureEffects(rows)) effects[e.kind] = e;
  ASSERT_EQ(effects.size(), 4U);
  EXPECT_NEAR(effects["periodic"].wait.slope, 2.3, 0.7);
  EXPECT_NEAR(effects["server"].wait.slope, 2.0, 0.7);
  EXPECT_NEAR(effects["messaging"].wait.slope, 2.3, 0.5);
  EXPECT_NEAR(effects["hog"].wait.slope, 1.0, 0.4);
  for (const auto& [kind, e] : effects) {
    EXPECT_LT(e.share.slope, -0.05) << kind;
    EXPECT_NEAR(e.placebo.slope, 0.0, 0.3) << kind;
  }
}

}  // namespace
}  // namespace kernelx
