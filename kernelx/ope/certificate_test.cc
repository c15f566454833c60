// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The certificate against the bundled recordings, whole and spoiled on purpose.
#include "kernelx/ope/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernelx/env/test_scenario.h"
#include "kernelx/ground/rng.h"
#include "kernelx/ground/testing.h"
#include "kernelx/preprocess/preprocess.h"

namespace kernelx {
namespace {

constexpr size_t kRows = 100'000;
constexpr int kFewStates = 32;  // where the verdict rests on the recording

/// Whole recordings take long when instrumented; the sample goes through the same code.
#define KERNELX_SKIP_IF_INSTRUMENTED() \
  if (kSanitized) GTEST_SKIP() << "a whole recording takes too long under a sanitizer"

const Dataset& RecordingA() {
  static const Dataset data =
      ExtractFeatures(FirstRows("interventional-a.jsonl.xz", kRows), FeatureSet::Extended(), "a");
  return data;
}

/// A copy of a dataset with each row changed, or dropped where `change` says false.
Dataset Changed(const Dataset& data, const std::function<bool(Row&)>& change,
                uint32_t columns = kExactColumns |
                                   ColumnBits(Column::kBehavior, Column::kApplied, Column::kComm)) {
  DatasetBuilder builder(data.feature_names(), columns);
  for (size_t i = 0; i < data.size(); ++i) {
    Row row = RowAt(data, i);
    if (change(row)) builder.Append(row);
  }
  builder.set_sidecar(data.sidecar());
  builder.set_source("changed");
  return std::move(builder).Build();
}

const Effect& Wait(const Certificate& certificate) { return certificate.outcomes.at(0); }

TEST(Certificate, NearestActsOnRecordingA) {
  KERNELX_SKIP_IF_INSTRUMENTED();
  const Certificate certificate = CheckEnv(RecordingA(), {});
  EXPECT_EQ(certificate.verdict, CertificateVerdict::kActs) << certificate.why;
  EXPECT_TRUE(certificate.placebo_ok);
  EXPECT_NEAR(certificate.placebo.data_effect, 0.0, 0.15);
  EXPECT_TRUE(certificate.propensities_known);
  ASSERT_EQ(certificate.outcomes.size(), 3U);
  const Effect& wait = Wait(certificate);
  EXPECT_EQ(wait.name, "wait");
  EXPECT_GT(wait.effect, 10 * wait.null95);
  EXPECT_GT(wait.data_low, 0.0);
  // As large as in the recording, over all and for each command.
  EXPECT_NEAR(wait.effect, wait.data_effect, 0.25 * wait.data_effect);
  ASSERT_GE(certificate.groups.size(), 4U);
  for (const GroupEffect& group : certificate.groups) {
    EXPECT_GE(group.rows, 200U);
    EXPECT_GT(group.data_effect, 0.0) << group.comm;
    EXPECT_GT(group.effect, 0.5 * group.data_effect) << group.comm;
    EXPECT_LT(group.effect, 1.6 * group.data_effect) << group.comm;
  }
}

TEST(Certificate, NearestActsOnRecordingB) {
  KERNELX_SKIP_IF_INSTRUMENTED();
  const Dataset b =
      ExtractFeatures(FirstRows("interventional-b.jsonl.xz", kRows), FeatureSet::Extended(), "b");
  const Certificate certificate = CheckEnv(b, {});
  EXPECT_EQ(certificate.verdict, CertificateVerdict::kActs) << certificate.why;
  EXPECT_TRUE(certificate.placebo_ok);
  EXPECT_NEAR(Wait(certificate).effect, Wait(certificate).data_effect,
              0.25 * Wait(certificate).data_effect);
}

TEST(Certificate, TheSampleActs) {
  EXPECT_EQ(CheckEnv(Sample(), {}).verdict, CertificateVerdict::kActs);
}

TEST(Certificate, LookUpsThatIgnoreTheActionAreBlind) {
  for (const char* dynamics : {"replay", "nearest-state"}) {
    const Certificate certificate = CheckEnv(Sample(), {.dynamics = dynamics});
    EXPECT_EQ(certificate.verdict, CertificateVerdict::kActionBlind) << dynamics;
    for (const Effect& effect : certificate.outcomes) EXPECT_EQ(effect.effect, 0.0);
    EXPECT_GT(Wait(certificate).data_effect, 1.0) << "the recording still shows it";
    EXPECT_NE(certificate.why.find("does not move"), std::string::npos) << certificate.why;
  }
}

TEST(Certificate, WithoutInterventionThereIsNoVariation) {
  const Dataset observational =
      ExtractFeatures(FirstRows("observational.jsonl.xz", 20'000), FeatureSet::Extended(), "o");
  for (const char* dynamics : {"nearest", "replay"}) {
    const Certificate certificate = CheckEnv(observational, {.dynamics = dynamics});
    EXPECT_EQ(certificate.verdict, CertificateVerdict::kNoActionVariation);
    EXPECT_TRUE(certificate.outcomes.empty());
    EXPECT_FALSE(certificate.why.empty());
  }
}

TEST(Certificate, ActionsShuffledWithinTasksAreBlind) {
  KERNELX_SKIP_IF_INSTRUMENTED();
  const Dataset& a = RecordingA();
  std::map<std::pair<int32_t, uint64_t>, std::vector<double>> actions;
  for (const uint32_t row : RandomisedRows(a)) {
    actions[{a.pid()[row], a.start_ns()[row]}].push_back(a.action()[row]);
  }
  Rng rng(1);
  for (auto& [task, values] : actions) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.Below(i)]);
  }
  const Dataset shuffled = Changed(a, [&](Row& row) {
    if (row.behavior.drawn && row.applied.in_force && row.behavior.mode == DrawMode::kTask) {
      auto& values = actions.at({row.pid, row.start_ns});
      row.action = values.back();
      values.pop_back();
    }
    return true;
  });
  const Certificate certificate = CheckEnv(shuffled, {});
  EXPECT_EQ(certificate.verdict, CertificateVerdict::kActionBlind) << certificate.why;
  EXPECT_LT(std::abs(Wait(certificate).data_effect), 0.2);
}

TEST(Certificate, StandingRowsTakenAsRandomisedAreFoundOut) {
  // The first of three false successes: how long an action stands depends on how often a task runs.
  const Dataset lie = Changed(Sample(), [](Row& row) {
    row.behavior.drawn = true;
    row.behavior.mode = DrawMode::kTask;
    row.applied.in_force = true;
    return true;
  });
  const Certificate certificate = CheckEnv(lie, {.states = kFewStates});
  EXPECT_FALSE(certificate.placebo_ok);
  EXPECT_GT(certificate.placebo.data_effect, 0.3);
  EXPECT_EQ(certificate.verdict, CertificateVerdict::kActionBlind);
  EXPECT_NE(certificate.why.find("not randomised"), std::string::npos) << certificate.why;
}

TEST(Certificate, WithoutPropensitiesThePlaceboDecides) {
  // The drawn rows alone, without saying so: they pass; all rows: they do not.
  const auto forget = [](bool all) {
    return Changed(
        Sample(), [all](Row& row) { return all || (row.behavior.drawn && row.applied.in_force); },
        kExactColumns);
  };
  const Certificate drawn = CheckEnv(forget(false), {.states = kFewStates});
  EXPECT_FALSE(drawn.propensities_known);
  EXPECT_EQ(drawn.rows, 265U);
  EXPECT_EQ(drawn.verdict, CertificateVerdict::kActs) << drawn.why;
  const Certificate all = CheckEnv(forget(true), {.states = kFewStates});
  EXPECT_EQ(all.rows, Sample().size());
  EXPECT_EQ(all.verdict, CertificateVerdict::kActionBlind) << all.why;
}

TEST(Certificate, OneRowOrOneActionIsNoVariation) {
  const Certificate one = CheckEnv(HandData(OneTask(1)), {});
  EXPECT_EQ(one.verdict, CertificateVerdict::kNoActionVariation);
  EXPECT_EQ(one.rows, 1U);
  auto rows = OneTask(50);
  for (HandRow& row : rows) row.action = 0.5;
  const Certificate constant = CheckEnv(HandData(rows), {});
  EXPECT_EQ(constant.verdict, CertificateVerdict::kNoActionVariation);
  EXPECT_EQ(constant.why, "every action is the same; use a recording with drawn actions");
  EXPECT_EQ(CheckEnv(HandData({}), {}).verdict, CertificateVerdict::kNoActionVariation);
}

TEST(Certificate, OneTaskHasNoIntervalAndStillAVerdict) {
  // Actions drawn at random; the wait that follows is e^(3 a) x 100 us.
  std::vector<HandRow> rows = OneTask(400);
  Rng rng(3);
  for (HandRow& row : rows) {
    row.action = rng.Uniform(-1.0, 1.0);
    row.next_wait_us = static_cast<uint64_t>(100 * std::exp(3 * row.action));
    row.wait_us = 100 + rng.Below(50);
  }
  const Certificate certificate = CheckEnv(HandData(rows), {});
  EXPECT_EQ(certificate.tasks, 1U);
  EXPECT_TRUE(std::isnan(Wait(certificate).data_low));
  EXPECT_NEAR(Wait(certificate).data_effect, 3.0, 0.05);
  EXPECT_EQ(certificate.verdict, CertificateVerdict::kActs) << certificate.why;
}

TEST(Certificate, StickyActionsAreShuffledInBlocks) {
  // One action for 150 rows at a time, and a wait that drifts upwards without heeding it. Row by
  // row the two look related; of four blocks 2 in 24 orders are as monotonous by chance.
  std::vector<HandRow> rows = OneTask(600);
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t block = i / 150;
    rows[i].action = -0.9 + 0.6 * static_cast<double>(block);
    rows[i].wait_us = 100;
    rows[i].next_wait_us = 100 + i;
  }
  const Certificate certificate = CheckEnv(HandData(rows), {.states = kFewStates});
  EXPECT_NE(certificate.verdict, CertificateVerdict::kActs) << certificate.why;
}

TEST(Certificate, IsTheSameForAnyNumberOfThreads) {
  const auto numbers = [](unsigned threads) {
    const Certificate c = CheckEnv(Sample(), {.states = kFewStates, .threads = threads});
    std::vector<double> all = {c.placebo.data_effect, c.placebo.null95, c.placebo.data_p};
    for (const Effect& e : c.outcomes) {
      all.insert(all.end(), {e.effect, e.null95, e.p, e.data_effect, e.data_low, e.data_high});
    }
    return all;
  };
  EXPECT_EQ(numbers(1), numbers(2));
  EXPECT_EQ(numbers(1), numbers(3));
}

TEST(Certificate, RefusesTooFewPermutationsAndAnUnknownDynamics) {
  EXPECT_NE(WhatOf(ErrorCode::kUsage, [] { CheckEnv(Sample(), {.permutations = 98}); })
                .find("98 permutations"),
            std::string::npos);
  WhatOf(ErrorCode::kUsage, [] { CheckEnv(Sample(), {.states = 0}); });
  WhatOf(ErrorCode::kUsage, [] { CheckEnv(Sample(), {.dynamics = "magic"}); });
}

TEST(Certificate, NamesItsVerdicts) {
  EXPECT_EQ(VerdictName(CertificateVerdict::kActs), "acts");
  EXPECT_EQ(VerdictName(CertificateVerdict::kActionBlind), "action-blind");
  EXPECT_EQ(VerdictName(CertificateVerdict::kNoActionVariation), "no-action-variation");
}

}  // namespace
}  // namespace kernelx
