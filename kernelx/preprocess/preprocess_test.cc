// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/preprocess/preprocess.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kernelx/dataset/writer.h"
#include "kernelx/ground/testing.h"
#include "kernelx/preprocess/extractor.h"
#include "kernelx/preprocess/test_recording.h"

namespace kernelx {
namespace {

namespace fs = std::filesystem;

constexpr char kA[] = "interventional-a.jsonl.xz";

class PreprocessTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string Path(const std::string& name) const { return temporary_.File(name); }
  std::string WriteRaw(const std::string& name, std::span<const RawTransition> rows) const {
    WriteFileAtomically(Path(name), FormatRaw(rows));
    return Path(name);
  }
  /// Every file of a folder and its bytes.
  static std::map<std::string, std::string> Files(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      files[entry.path().filename()] = ReadFile(entry.path());
    }
    return files;
  }

 private:
  TempFolder temporary_;

 protected:
  const std::string& folder_ = temporary_.path();
};

/// A task's transition between two events.
RawTransition Between(const RawState& state, const RawState& next, double action = 0.0) {
  RawTransition row;
  row.state = state;
  row.next = next;
  row.action = action;
  row.reward = static_cast<int64_t>(state.features[kSlotWaitUs]) -
               static_cast<int64_t>(next.features[kSlotWaitUs]);
  return row;
}

double Feature(const Dataset& data, std::span<const double> state, const std::string& name) {
  const auto& names = data.feature_names();
  return state[static_cast<size_t>(std::ranges::find(names, name) - names.begin())];
}

TEST(ExtractFeatures, GivesTheSeedsRowsToTheBit) {
  const auto raw = FirstRows(kA, 200);
  const Dataset data = ExtractFeatures(raw, FeatureSet::Seed(), "a");
  const auto& expected = SeedVectors()["rows"];
  ASSERT_EQ(data.size(), expected.size());
  std::vector<size_t> order(data.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return raw[i].state.timestamp_ns; });
  for (size_t i = 0; i < data.size(); ++i) {
    const auto& row = expected[order[i]];
    EXPECT_TRUE(std::ranges::equal(data.state(i), row["state"].get<std::vector<double>>()));
    EXPECT_TRUE(
        std::ranges::equal(data.next_state(i), row["next_state"].get<std::vector<double>>()));
    EXPECT_EQ(data.action()[i], row["action"].get<double>());
    EXPECT_EQ(data.reward()[i], row["reward"].get<double>());
    EXPECT_EQ(data.pid()[i], row["pid"].get<int>());
    EXPECT_EQ(data.cpu()[i], row["cpu"].get<int>());
    EXPECT_EQ(data.timestamp_ns()[i], row["timestamp"].get<uint64_t>());
  }
}

TEST(ExtractFeatures, DeltasAreExactIntegersAndWrapAware) {
  const uint64_t top = ~uint64_t{0};
  const RawTransition rows[] = {
      Between(Event(1, 1,
                    {{kSlotExecNs, (uint64_t{1} << 53) + 1},
                     {kSlotVruntimeNs, top - 999},  // 1000 below zero
                     {kSlotWaitUs, 5},
                     {kSlotVoluntary, 1},
                     {kSlotInvoluntary, 4}}),
              Event(1, 2,
                    {{kSlotExecNs, (uint64_t{1} << 53) + 4},
                     {kSlotVruntimeNs, 500},
                     {kSlotWaitUs, 9},
                     {kSlotVoluntary, 3},
                     {kSlotInvoluntary, 5},
                     {kSlotSleepUs, 77}})),
      Between(Event(2, 3, {{kSlotVruntimeNs, 500}}), Event(2, 4, {{kSlotVruntimeNs, top - 999}}))};
  const Dataset data = ExtractFeatures(rows, FeatureSet::Extended(), "x");
  EXPECT_EQ(data.delta()[0], (Delta{.exec_ns = 3,
                                    .vruntime_ns = 1500,
                                    .wait_us = 5,
                                    .next_wait_us = 9,
                                    .voluntary = 2,
                                    .involuntary = 1,
                                    .sleep_us = 77}));
  EXPECT_EQ(data.delta()[1].vruntime_ns, -1500);
}

TEST(ExtractFeatures, AnActionStandsUntilTheNextEvent) {
  const RawState a = Event(1, 1);
  const RawState b = Event(1, 2);
  const RawState c = Event(1, 3);
  const RawTransition rows[] = {Between(a, b, 0.5), Between(b, c, -0.25)};
  const Dataset data = ExtractFeatures(rows, FeatureSet::Extended(), "x");
  EXPECT_EQ(Feature(data, data.state(0), "previous_action"), 0.0) << "unknown: none";
  EXPECT_EQ(Feature(data, data.next_state(0), "previous_action"), 0.5);
  EXPECT_EQ(Feature(data, data.state(1), "previous_action"), 0.5);
  EXPECT_EQ(Feature(data, data.next_state(1), "previous_action"), -0.25);
}

TEST(ExtractFeatures, AGapEndsTheHistory) {
  const auto event = [](uint64_t us, uint64_t wait_us) {
    return Event(1, us, {{kSlotExecNs, us * 100}, {kSlotWaitUs, wait_us}});
  };
  const RawTransition whole[] = {Between(event(1, 100), event(2, 100)),
                                 Between(event(2, 100), event(3, 100)),
                                 // events between 3 and 10 were lost
                                 Between(event(10, 7), event(11, 3))};
  const Dataset data = ExtractFeatures(whole, FeatureSet::Extended(), "x");
  const Dataset alone = ExtractFeatures(std::span(whole).subspan(2), FeatureSet::Extended(), "x");
  EXPECT_TRUE(std::ranges::equal(data.next_state(0), data.state(1)));
  EXPECT_NEAR(Feature(data, data.state(2), "wait_ema"), std::log(8.0), 1e-15);
  // All but the load of the family, which goes on.
  for (const std::string& name : data.feature_names()) {
    if (name == "family_load") continue;
    EXPECT_EQ(Feature(data, data.state(2), name), Feature(alone, alone.state(0), name)) << name;
    EXPECT_EQ(Feature(data, data.next_state(2), name), Feature(alone, alone.next_state(0), name))
        << name;
  }
}

TEST(ExtractFeatures, TakesRowsInAnyOrder) {
  auto rows = FirstRows(kA, 2000);
  const Dataset forward = ExtractFeatures(rows, FeatureSet::Extended(), "x");
  std::ranges::reverse(rows);
  const Dataset backward = ExtractFeatures(rows, FeatureSet::Extended(), "x");
  EXPECT_TRUE(std::ranges::equal(forward.states(), backward.states()));
  EXPECT_TRUE(std::ranges::equal(forward.next_states(), backward.next_states()));
  EXPECT_TRUE(std::ranges::is_sorted(forward.timestamp_ns()));
  EXPECT_EQ(forward.sidecar(), backward.sidecar());
}

TEST(ExtractFeatures, KeepsWhatIsKnownOfTheAction) {
  auto rows = FirstRows(kA, 500);
  const Dataset data = ExtractFeatures(rows, FeatureSet::Seed(), "x");
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.state.timestamp_ns; });
  size_t drawn = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    drawn += data.behavior()[i].drawn ? 1U : 0U;
    EXPECT_EQ(data.behavior()[i].drawn, rows[i].behavior.drawn);
    EXPECT_EQ(data.behavior()[i].window, rows[i].behavior.window);
    EXPECT_EQ(data.applied()[i].in_force, rows[i].applied.in_force);
    EXPECT_EQ(data.comm_names()[data.comm()[i]], rows[i].comm);
    EXPECT_EQ(data.start_ns()[i], rows[i].state.features[kSlotStartNs]);
    EXPECT_EQ(data.next_timestamp_ns()[i], rows[i].next.timestamp_ns);
  }
  EXPECT_GT(drawn, 0U);
}

TEST_F(PreprocessTest, WritesWhatExtractFeaturesGivesSplitByTime) {
  const auto rows = FirstRows(kA, 3000);
  const auto report = Preprocess({WriteRaw("a.jsonl", rows)}, FeatureSet::Extended(), Path("out"),
                                 {.use_cache = false});
  EXPECT_EQ(report.rows, 3000U);
  EXPECT_EQ(report.train + report.validation + report.test + report.embargoed, 3000U);
  EXPECT_NEAR(static_cast<double>(report.train + report.embargoed), 2400.0, 120.0);
  const Dataset whole = ExtractFeatures(rows, FeatureSet::Extended(), "x");
  std::map<std::pair<int32_t, uint64_t>, size_t> place;
  for (size_t i = 0; i < whole.size(); ++i) place[{whole.pid()[i], whole.timestamp_ns()[i]}] = i;
  ASSERT_EQ(place.size(), 3000U);
  uint64_t before_ns = 0;
  size_t seen = 0;
  for (const char* split : {"train", "val", "test"}) {
    const Dataset part = LoadDataset(Path("out/") + split + ".jsonl", {.use_cache = false});
    EXPECT_EQ(part.feature_names(), FeatureSet::Extended().names());
    uint64_t last_ns = before_ns;
    for (size_t i = 0; i < part.size(); ++i, ++seen) {
      const size_t at = place.at({part.pid()[i], part.timestamp_ns()[i]});
      EXPECT_TRUE(std::ranges::equal(part.state(i), whole.state(at)));
      EXPECT_TRUE(std::ranges::equal(part.next_state(i), whole.next_state(at)));
      EXPECT_EQ(part.delta()[i], whole.delta()[at]);
      EXPECT_GT(part.timestamp_ns()[i], before_ns) << "no event of an earlier split comes later";
      last_ns = std::max(last_ns, part.next_timestamp_ns()[i]);
    }
    before_ns = last_ns;
  }
  EXPECT_EQ(seen, report.train + report.validation + report.test);
}

TEST_F(PreprocessTest, TheSidecarHasTheMomentsOfTheTrainingRows) {
  Preprocess({WriteRaw("a.jsonl", FirstRows(kA, 1000))}, FeatureSet::Seed(), Path("out"),
             {.use_cache = false});
  const Dataset train = LoadDataset(Path("out/train.jsonl"), {.use_cache = false});
  const auto sidecar = nlohmann::json::parse(ReadFile(Path("out/features.json")));
  for (size_t column = 0; column < train.feature_count(); ++column) {
    double mean = 0.0;
    for (size_t i = 0; i < train.size(); ++i) mean += train.state(i)[column];
    mean /= static_cast<double>(train.size());
    double variance = 0.0;
    for (size_t i = 0; i < train.size(); ++i)
      variance += std::pow(train.state(i)[column] - mean, 2);
    const double sd = std::sqrt(variance / static_cast<double>(train.size()));
    const auto& feature = sidecar["features"][column];
    EXPECT_NEAR(feature["mean"].get<double>(), mean, 1e-9 * std::abs(mean));
    EXPECT_NEAR(feature["sd"].get<double>(), sd, 1e-9 * (sd + std::abs(mean)));
  }
}

TEST_F(PreprocessTest, IsTheSameForAnyNumberOfThreads) {
  const std::string raw = WriteRaw("a.jsonl", FirstRows(kA, 1500));
  std::map<std::string, std::string> first;
  for (const unsigned threads : {1U, 2U, 3U}) {
    const std::string out = Path("out") + std::to_string(threads);
    Preprocess({raw}, FeatureSet::Extended(), out, {.threads = threads});
    if (threads == 1) first = Files(out);
    EXPECT_EQ(Files(out), first);
  }
  EXPECT_EQ(first.size(), 4U);
}

TEST_F(PreprocessTest, SplitsEachRecordingOnItsOwn) {
  const auto a = FirstRows(kA, 1000);
  const auto b = FirstRows("interventional-b.jsonl.xz", 500);
  const auto one = Preprocess({WriteRaw("a", a)}, FeatureSet::Seed(), Path("a-out"), {});
  const auto other = Preprocess({WriteRaw("b", b)}, FeatureSet::Seed(), Path("b-out"), {});
  const auto both = Preprocess({Path("a"), Path("b")}, FeatureSet::Seed(), Path("out"), {});
  EXPECT_EQ(both.rows, 1500U);
  EXPECT_EQ(both.tasks, one.tasks + other.tasks);
  for (const char* split : {"train.jsonl", "val.jsonl", "test.jsonl"}) {
    EXPECT_EQ(ReadFile(Path("out/") + split),
              ReadFile(Path("a-out/") + split) + ReadFile(Path("b-out/") + split));
  }
}

TEST_F(PreprocessTest, AFullDiskLeavesTheFolderAsItWas) {
  const auto rows = FirstRows(kA, 1000);
  const std::string raw = WriteRaw("a.jsonl", rows);
  const std::string small = WriteRaw("small.jsonl", std::span(rows).first(50));
  Preprocess({small}, FeatureSet::Seed(), Path("out"), {});
  const auto before = Files(Path("out"));
  ASSERT_EQ(before.size(), 4U);
  // train.jsonl does not fit; features.json, which is written first, would.
  const FileSizeLimit limit(100'000);
  WhatOf(ErrorCode::kFile, [&] { Preprocess({raw}, FeatureSet::Extended(), Path("out"), {}); });
  EXPECT_EQ(Files(Path("out")), before);
}

TEST_F(PreprocessTest, ABadLineLeavesNoFile) {
  const auto rows = FirstRows(kA, 50);
  const std::string good = WriteRaw("good.jsonl", rows);
  WriteFileAtomically(Path("bad.jsonl"), FormatRaw(rows) + "{\"state_t\":");
  const std::string what = WhatOf(ErrorCode::kBadInput, [&] {
    Preprocess({good, Path("bad.jsonl")}, FeatureSet::Seed(), Path("out"), {});
  });
  EXPECT_NE(what.find("bad.jsonl:51:"), std::string::npos) << what;
  EXPECT_TRUE(Files(Path("out")).empty());
}

TEST_F(PreprocessTest, QuarantineSetsBadLinesAside) {
  const auto rows = FirstRows(kA, 50);
  WriteFileAtomically(Path("bad.jsonl"), "nonsense\n" + FormatRaw(rows) + "{\"state_t\":");
  Quarantine quarantine(Path("aside"));
  const auto report =
      Preprocess({Path("bad.jsonl")}, FeatureSet::Seed(), Path("out"), {.quarantine = &quarantine});
  quarantine.Commit();
  EXPECT_EQ(report.rows, 50U);
  EXPECT_EQ(report.read.bad, 2U);
  EXPECT_EQ(report.read.bad_by_kind[static_cast<size_t>(BadKind::kNotJson)], 1U);
  EXPECT_EQ(report.read.bad_by_kind[static_cast<size_t>(BadKind::kIncomplete)], 1U);
}

TEST_F(PreprocessTest, OneRowGivesASplitAndSaysWhichAreEmpty) {
  const auto report =
      Preprocess({WriteRaw("a", FirstRows(kA, 1))}, FeatureSet::Extended(), Path("out"), {});
  EXPECT_EQ(report.rows, 1U);
  EXPECT_EQ(report.train + report.validation + report.test, 1U);
  EXPECT_FALSE(report.warnings.empty());
  EXPECT_EQ(Files(Path("out")).size(), 4U);
  EXPECT_EQ(LoadDataset(Path("out"), {.use_cache = false}).size(), 1U);
}

TEST_F(PreprocessTest, RefusesProcessedRowsAndBadPaths) {
  Preprocess({WriteRaw("a", FirstRows(kA, 20))}, FeatureSet::Seed(), Path("out"), {});
  const std::string what = WhatOf(ErrorCode::kBadInput, [&] {
    Preprocess({Path("out/train.jsonl")}, FeatureSet::Seed(), Path("again"), {});
  });
  EXPECT_NE(what.find("processed"), std::string::npos) << what;
  WhatOf(ErrorCode::kFile, [&] { Preprocess({Path("a")}, FeatureSet::Seed(), Path("a/sub"), {}); });
  WhatOf(ErrorCode::kFile, [&] { Preprocess({Path("none")}, FeatureSet::Seed(), Path("x"), {}); });
}

TEST_F(PreprocessTest, CountsTasksAndUnbrokenRuns) {
  // pid 1 twice (two start times), one of them with a gap.
  const auto event = [](uint64_t start, uint64_t us) {
    return Event(1, us, {{kSlotStartNs, start}, {kSlotExecNs, us}});
  };
  const RawTransition rows[] = {
      Between(event(10, 1), event(10, 2)), Between(event(10, 2), event(10, 3)),
      Between(event(10, 5), event(10, 6)), Between(event(20, 7), event(20, 8))};
  const auto report = Preprocess({WriteRaw("a", rows)}, FeatureSet::Seed(), Path("out"), {});
  EXPECT_EQ(report.tasks, 2U);
  EXPECT_EQ(report.chains, 3U);
}

}  // namespace
}  // namespace kernelx
