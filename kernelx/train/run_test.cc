// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "kernelx/dataset/reader.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"
#include "kernelx/ground/testing.h"
#include "kernelx/policy/registry.h"
#include "kernelx/train/model_gain.h"
#include "kernelx/train/scheduler_group.h"

namespace kernelx {
namespace {

namespace fs = std::filesystem;

const Dataset& Sample() {
  static const Dataset data =
      LoadDataset(KERNELX_DATA_DIR "/sample/test.jsonl.zst", {.threads = 1, .use_cache = false});
  return data;
}

std::shared_ptr<const Scenario> SampleScenario(int max_steps) {
  return std::make_shared<const Scenario>(Sample(),
                                          ScenarioOptions{.max_steps = max_steps, .threads = 1});
}

RunOptions Small(const std::string& out) {
  RunOptions options;
  options.out = out;
  options.threads = 1;
  options.hidden = {16};
  options.grpo.states = 8;
  options.grpo.group_size = 4;
  options.grpo.phases = {{.updates = 3, .horizon = 1}};
  options.validate_every = 2;
  options.checkpoint_every = 2;
  return options;
}

TEST(SchedulerGroup, MembersShareTheirLuckAndDifferOnlyByAction) {
  constexpr size_t kGroups = 6;
  constexpr size_t kSize = 3;
  SchedulerGroup env(SampleScenario(2), 9, 1);
  const size_t width = env.observation_size();
  std::vector<double> first(kGroups * width), next(kGroups * kSize * width);
  std::vector<double> rewards(kGroups * kSize);
  std::vector<uint8_t> done(rewards.size());
  env.Reset({.update = 0, .groups = kGroups, .group_size = kSize, .horizon = 2}, first);
  std::vector<double> actions;
  for (size_t i = 0; i < rewards.size(); ++i) actions.push_back(i % kSize == 2 ? 0.9 : -0.4);
  env.Step(actions, rewards, done, next);
  size_t moved = 0;
  for (size_t group = 0; group < kGroups; ++group) {
    const double* column = next.data() + group * kSize * width;
    EXPECT_EQ(rewards[group * kSize], rewards[group * kSize + 1]);
    EXPECT_TRUE(std::equal(column, column + width, column + width));
    moved += rewards[group * kSize] != rewards[group * kSize + 2] ? 1 : 0;
  }
  EXPECT_EQ(moved, kGroups) << "another action, another reward";
}

TEST(SchedulerGroup, StatesAreAFunctionOfSeedAndUpdate) {
  const auto states = [](uint64_t seed, uint64_t update) {
    SchedulerGroup env(SampleScenario(1), seed, 1);
    std::vector<double> first(8 * env.observation_size());
    env.Reset({.update = update, .groups = 8, .group_size = 2, .horizon = 1}, first);
    return first;
  };
  EXPECT_EQ(states(1, 5), states(1, 5));
  EXPECT_NE(states(1, 5), states(1, 6));
  EXPECT_NE(states(1, 5), states(2, 5));
}

TEST(SchedulerGroup, HorizonBeyondTheEpisodesIsRefused) {
  SchedulerGroup env(SampleScenario(2), 1, 1);
  std::vector<double> first(env.observation_size());
  EXPECT_THROW(env.Reset({.update = 0, .groups = 1, .group_size = 2, .horizon = 3}, first), Error);
}

TEST(ModelGain, OfDoingNothingIsZero) {
  const auto scenario = SampleScenario(1);
  const ModelGain gain(*scenario, Sample(), 64, 1);
  const auto bound = [&](const std::string& name) {
    auto policy = MakePolicy(name);
    policy->Bind(Sample().feature_names());
    return policy;
  };
  EXPECT_EQ(gain(*bound("none")), 0.0);
  EXPECT_NE(gain(*bound("constant:0.8")), 0.0);
}

TEST(TrainRun, WritesARunFolderThatSaysWhereItComesFrom) {
  const TempFolder folder;
  const RunResult result = TrainRun(Sample(), {}, Small(folder.path()));
  EXPECT_EQ(result.certificate.verdict, CertificateVerdict::kActs);
  EXPECT_EQ(result.curve.size(), 3U);
  for (const char* name : {"config.json", "metrics.csv", "policy.safetensors",
                           "checkpoints/000002/training.safetensors"}) {
    EXPECT_TRUE(fs::exists(folder.path() + "/" + name)) << name;
  }
  EXPECT_NE(ReadFile(folder.path() + "/config.json").find(Sample().digest()), std::string::npos);
  const auto policy = MakePolicy(result.policy_path);
  policy->Bind(Sample().feature_names());
  const double action = policy->Law(Sample().state(0)).Median();
  EXPECT_GE(action, -1.0);
  EXPECT_LE(action, 1.0);
}

TEST(TrainRun, RefusesWhatIsBlindUnlessTold) {
  const TempFolder folder;
  RunOptions options = Small(folder.path());
  options.dynamics = "replay";
  try {
    TrainRun(Sample(), {}, options);
    FAIL() << "trained on replay";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("action-blind"), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(folder.path() + "/policy.safetensors"));
  options.allow_action_blind = true;
  EXPECT_EQ(TrainRun(Sample(), {}, options).curve.size(), 3U);
}

TEST(TrainRun, NothingToResumeIsAnError) {
  const TempFolder folder;
  RunOptions options = Small(folder.path());
  options.resume = true;
  EXPECT_THROW(TrainRun(Sample(), {}, options), Error);
}

}  // namespace
}  // namespace kernelx
