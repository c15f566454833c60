// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ab/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>

#include "kernelx/ab/experiment.h"
#include "kernelx/ab/report.h"
#include "kernelx/act/actuator.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"
#include "kernelx/ground/testing.h"

namespace kernelx {
namespace {

const std::vector<GroupSpec> kGroups = {{"tick", WorkKind::kPeriodic, 1, 1000, 100},
                                        {"hog", WorkKind::kHog, 2}};

/// A window whose latencies all lie at `latency_us`.
Window WindowOf(size_t block, const std::string& arm, uint64_t latency_us, double work = 1.0) {
  Window window{.block = block, .arm = arm, .seconds = 2.0, .groups = {}};
  window.groups.resize(2);
  window.groups[0].latency_us.Add(latency_us, 1000);
  window.groups[0].completions = 1000;
  window.groups[1].completions = static_cast<uint64_t>(10'000 * work);
  window.groups[1].cpu_ns = static_cast<uint64_t>(4e9 * work);
  return window;
}

TEST(VerdictTest, TheRatioIsTheGeometricMeanOverBlocks) {
  const std::vector<std::string> arms = {"default", "a/a", "x"};
  std::vector<Window> windows;
  // d of x: ln(16/32) and ln(32/16): mean 0. a/a: the same as default.
  for (const auto& [block, base, own] : {std::tuple{0, 32, 16}, std::tuple{1, 16, 32},
                                         std::tuple{2, 32, 16}, std::tuple{3, 16, 32}}) {
    windows.push_back(WindowOf(block, "default", base));
    windows.push_back(WindowOf(block, "a/a", base));
    windows.push_back(WindowOf(block, "x", own));
  }
  const Judgement judgement = Judge(kGroups, arms, windows, 1);
  ASSERT_EQ(judgement.arms.size(), 2u);
  EXPECT_NEAR(judgement.arms[0].ratio.value, 1.0, 1e-12);
  EXPECT_EQ(judgement.arms[0].ratio.low, judgement.arms[0].ratio.high);
  EXPECT_NEAR(judgement.arms[1].ratio.value, 1.0, 1e-12);
  EXPECT_NEAR(judgement.arms[1].ratio.low, 0.5, 1e-9) << "all blocks may be drawn with ln 1/2";
  EXPECT_EQ(judgement.arms[1].verdict, Verdict::kNotShown);
  EXPECT_EQ(judgement.noise_sd, 0.0);
  EXPECT_EQ(judgement.arms[1].blocks, 4u);
}

TEST(VerdictTest, BetterNeedsDefaultAndNoopAndEveryGuard) {
  const std::vector<std::string> arms = {"default", "noop", "x"};
  const auto judge = [&](uint64_t noop_us, double work) {
    std::vector<Window> windows;
    for (size_t block = 0; block < 6; ++block) {
      windows.push_back(WindowOf(block, "default", 60));
      windows.push_back(WindowOf(block, "noop", noop_us));
      windows.push_back(WindowOf(block, "x", 30, work));
    }
    return Judge(kGroups, arms, windows, 1).arms[1];
  };
  const ArmResult good = judge(60, 1.0);
  EXPECT_EQ(good.verdict, Verdict::kBetter);
  EXPECT_NEAR(good.ratio.value, 0.5, 1e-12);
  ASSERT_EQ(good.guards.size(), 2u);
  EXPECT_EQ(good.guards[0].what, "cpu");
  EXPECT_NEAR(good.guards[1].ratio.value, 1.0, 1e-12);
  EXPECT_EQ(judge(20, 1.0).verdict, Verdict::kNotShown) << "the daemon alone is faster";
  EXPECT_EQ(judge(60, 0.975).verdict, Verdict::kBetter);
  EXPECT_EQ(judge(60, 0.96).verdict, Verdict::kWorse) << "a guard is broken beyond doubt";
}

TEST(VerdictTest, TheOracleCountsAtFourFifths) {
  const std::vector<std::string> arms = {"default", "x", "oracle"};
  std::vector<Window> windows;
  for (size_t block = 0; block < 5; ++block) {
    windows.push_back(WindowOf(block, "default", 1));
    windows.back().groups[0].latency_us = {};
    windows.back().groups[0].latency_us.Add(48, 10);
    windows.push_back(WindowOf(block, "x", 12));
    windows.push_back(WindowOf(block, "oracle", 6));
  }
  const Judgement judgement = Judge(kGroups, arms, windows, 1);
  ASSERT_TRUE(judgement.arms[0].against_oracle);
  EXPECT_NEAR(judgement.arms[0].against_oracle->value, std::log(4.0) - 0.8 * std::log(8.0), 1e-12);
  EXPECT_FALSE(judgement.arms[1].against_oracle);
}

TEST(VerdictTest, RefusesWhatCannotBeJudged) {
  const std::vector<std::string> arms = {"default", "x"};
  EXPECT_THROW((void)Judge(kGroups, arms, {WindowOf(0, "default", 1), WindowOf(0, "x", 1)}, 1),
               Error);
  // A block without one of its arms does not count.
  EXPECT_THROW(
      (void)Judge(kGroups, arms,
                  {WindowOf(0, "default", 1), WindowOf(0, "x", 1), WindowOf(1, "x", 1)}, 1),
      Error);
  std::vector<Window> odd = {WindowOf(0, "default", 1), WindowOf(0, "x", 1),
                             WindowOf(1, "default", 1), WindowOf(1, "x", 1)};
  odd[3].groups.pop_back();
  EXPECT_THROW((void)Judge(kGroups, arms, odd, 1), Error);
}

/// An experiment by lot: log-normal latencies whose level wanders from block to block for all arms
/// alike, and from window to window for each.
std::vector<Window> Simulated(Rng& rng, size_t blocks, double change) {
  std::vector<Window> windows;
  for (size_t block = 0; block < blocks; ++block) {
    const double level = 5.0 + 0.4 * rng.Normal();
    for (const char* arm : {"default", "noop", "x"}) {
      Window window = WindowOf(block, arm, 1);
      window.groups[0].latency_us = {};
      const bool changed = std::string_view(arm) == "x";
      const double own = level + 0.12 * rng.Normal() + (changed ? std::log(change) : 0.0);
      for (int i = 0; i < 300; ++i) {
        window.groups[0].latency_us.Add(static_cast<uint64_t>(std::exp(own + 0.8 * rng.Normal())));
      }
      const double work = 1.0 + 0.03 * rng.Normal();
      window.groups[1].completions = static_cast<uint64_t>(10'000 * work);
      window.groups[1].cpu_ns = static_cast<uint64_t>(4e9 * work);
      windows.push_back(std::move(window));
    }
  }
  return windows;
}

/// Share of `runs` experiments with verdict `wanted`.
double ShareOf(Verdict wanted, double change, int runs) {
  const std::vector<std::string> arms = {"default", "noop", "x"};
  Rng rng(5);
  int found = 0;
  for (int run = 0; run < runs; ++run) {
    const Judgement judgement = Judge(kGroups, arms, Simulated(rng, 40, change), 100 + run);
    found += judgement.arms[1].verdict == wanted ? 1 : 0;
  }
  return static_cast<double>(found) / runs;
}

TEST(VerdictTest, EqualArmsAreNotShownAndAPlantedChangeIsFound) {
  // 1,000 runs: docs/ab.md; here as many as a test may cost.
  if (kSanitized) GTEST_SKIP() << "counts runs, touches no memory of its own: too slow here";
  const int runs = 60;
  EXPECT_GE(ShareOf(Verdict::kNotShown, 1.0, runs), 0.88);
  EXPECT_GE(ShareOf(Verdict::kBetter, 0.8, runs), 0.8);
  EXPECT_GE(ShareOf(Verdict::kWorse, 1.25, runs), 0.8);
}

Experiment SimulatedExperiment() {
  Rng rng(9);
  return {.load = {.name = "made", .what = "by lot", .groups = kGroups},
          .options = {.blocks = 5},
          .arms = {"default", "noop", "x"},
          .windows = Simulated(rng, 5, 0.5)};
}

TEST(ExperimentTest, TheVerdictFollowsFromTheFile) {
  const Experiment experiment = SimulatedExperiment();
  const auto judge = [](const Experiment& e) {
    return Judge(e.load.groups, e.arms, e.windows, e.options.seed);
  };
  const nlohmann::json json = ToJson(experiment, judge(experiment));
  const auto read = nlohmann::json::parse(json.dump());
  const Experiment again = ExperimentFromJson(read, "x.json");
  EXPECT_EQ(ToJson(again, judge(again)), json);
  EXPECT_EQ(json["judged"], "x");
  for (const char* key : {"verdict", "metric", "guards", "arms", "ratio", "ci95", "windows"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_THROW((void)ExperimentFromJson(nlohmann::json::parse("{}"), "x.json"), Error);
  auto cut = read;
  cut["windows"][3]["groups"].erase("hog");
  EXPECT_THROW((void)ExperimentFromJson(cut, "x.json"), Error);
}

TEST(ExperimentTest, ThePageNamesEveryArmAndCarriesNoForeignMarkup) {
  Experiment experiment = SimulatedExperiment();
  experiment.load.what = "<b>bold</b>";
  const std::string page =
      AbReport(experiment, Judge(experiment.load.groups, experiment.arms, experiment.windows, 1));
  EXPECT_NE(page.find("noop"), std::string::npos);
  EXPECT_EQ(page.find("<b>bold"), std::string::npos);
}

TEST(ExperimentTest, TheOracleActsOnARealLoadAndLeavesNothing) {
  std::vector<std::unique_ptr<Arm>> arms;
  arms.push_back(MakeIdleArm(kBaselineArm));
  arms.push_back(MakeOracleArm());
  arms.push_back(MakeCommandArm("nothing", "true;true"));
  const ExperimentOptions options{
      .blocks = 2, .window_s = 0.2, .washout_s = 0.05, .warmup_s = 0.1, .seed = 3};
  try {
    size_t calls = 0;
    const Experiment experiment = RunExperiment(
        FindLoad("hogs"), options, arms, [] { return false; },
        [&](size_t done, size_t all) {
          ++calls;
          EXPECT_LE(done, all);
        });
    EXPECT_EQ(calls, 6u);
    ASSERT_EQ(experiment.windows.size(), 6u);
    for (const Window& window : experiment.windows) {
      EXPECT_GT(window.groups[0].completions, 20u);
      EXPECT_GT(window.groups[0].latency_us.total(), 20u);
      EXPECT_GT(window.groups[2].cpu_ns, 50'000'000u);
      EXPECT_GT(window.groups[2].completions, 5u);
    }
    EXPECT_EQ(Judge(experiment.load.groups, experiment.arms, experiment.windows, 1).arms.size(),
              2u);
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::kMissingCapability) << error.what();
    GTEST_SKIP() << error.what();
  }
}

TEST(LoadTest, EveryLoadRunsAndEndsWhole) {
  for (const LoadSpec& spec : Loads()) {
    EXPECT_FALSE(spec.what.empty());
    for (const GroupSpec& group : spec.groups) EXPECT_LE(group.name.size(), 15u);
    pid_t root = 0;
    {
      const Load load(spec, 1);
      root = load.root();
      for (size_t g = 0; g < spec.groups.size(); ++g) EXPECT_FALSE(load.Pids(g).empty());
      EXPECT_TRUE(load.Whole());
      const pid_t one = load.Pids(0)[0];
      EXPECT_TRUE(ReadSched(one));
    }
    EXPECT_NE(kill(root, 0), 0) << spec.name << " still runs";
  }
  EXPECT_THROW((void)FindLoad("no-such"), Error);
}

}  // namespace
}  // namespace kernelx
