// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The whole chain where the answer is known: on the simulated machine timer-woken tasks gain by a
// boost, hogs by a demotion, and a crowd whose members wait for each other by being left alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

#include "kernelx/env/runqueue_episode.h"
#include "kernelx/env/runqueue_recorder.h"
#include "kernelx/ground/testing.h"
#include "kernelx/ope/draws.h"
#include "kernelx/ope/estimate.h"
#include "kernelx/policy/registry.h"
#include "kernelx/preprocess/preprocess.h"
#include "kernelx/train/run.h"
#include "kernelx/train/runqueue_group.h"

namespace kernelx {
namespace {

std::shared_ptr<const RunQueueLoad> Load(uint64_t seed) {
  return std::make_shared<const RunQueueLoad>(MixedLoad(seed));
}

Dataset Record(uint64_t load, uint64_t seed, double seconds) {
  return ExtractFeatures(RecordRunQueue(Load(load), seed, seconds, {.group_share = 0.0}),
                         FeatureSet::Extended(), "runqueue");
}

/// Mean median action by command.
std::map<std::string, double> Profile(const Policy& policy, const Dataset& data) {
  std::map<std::string, double> sum;
  std::map<std::string, double> count;
  for (size_t row = 0; row < data.size(); ++row) {
    const std::string& comm = data.comm_names()[data.comm()[row]];
    sum[comm] += policy.Law(data.state(row)).Median();
    count[comm] += 1.0;
  }
  for (auto& [comm, value] : sum) value /= count[comm];
  return sum;
}

PairedDifference Judge(const Policy& policy, const Dataset& data) {
  const Trajectories trajectories(data, Order::kTask);
  const auto reward = MakeReward("balanced");
  const auto collected = CollectDraws(data, trajectories, *reward, 5, DrawScope::kIntentionToTreat);
  std::vector<PolicyLaws> laws(1, {.name = "trained", .laws = {}});
  for (const uint32_t row : collected.rows) laws[0].laws.push_back(policy.Law(data.state(row)));
  laws.push_back(ConstantPolicy("none", 0.0, collected.rows.size()));
  return OffPolicyEstimator(collected.draws, laws).Compare(0, 1, Estimator::kDr);
}

/// What an action really gains over 0 at the draws of a machine, by command: the same draw, the
/// same luck, another action.
std::map<std::string, double> TrueGain(double action) {
  const auto reward = MakeReward("balanced");
  const auto load = Load(7);
  RunQueueEpisode machine(load, 7, {.group_share = 0.0}, FeatureSet::Extended());
  const auto total = [&](double a) {
    RunQueueEpisode copy = machine;
    double terms[Reward::kMaxTerms];
    reward->FromOutcome(copy.Decide(a, 5), terms);
    reward->FromAction(a, machine.standing(), terms + reward->outcome_terms());
    return terms[0] + terms[1] + terms[2] + terms[3] + terms[4];
  };
  std::map<std::string, double> sum;
  std::map<std::string, double> count;
  for (int n = 0; n < 4000; ++n) {
    machine.ToDraw();
    const std::string& comm = load->tasks[machine.task()].comm;
    if (comm == "sim-messaging" && count[comm] >= 800) continue;
    sum[comm] += total(action) - total(0.0);
    count[comm] += 1.0;
  }
  for (auto& [comm, value] : sum) value /= count[comm];
  return sum;
}

TEST(RunQueueChain, TheKnownPolicyIsGoodByTruth) {
  auto boost = TrueGain(-0.8);
  auto demote = TrueGain(0.8);
  EXPECT_GT(boost["sim-periodic"], 0.05);
  EXPECT_LT(demote["sim-periodic"], -0.05);
  EXPECT_GT(demote["sim-hog"], 0.05);
  EXPECT_LT(boost["sim-hog"], -0.05);
  EXPECT_LT(demote["sim-messaging"], 0.0);
  EXPECT_LT(boost["sim-messaging"], boost["sim-periodic"]);
  for (const auto& [comm, gain] : boost) {
    RecordProperty("boost_" + comm, std::to_string(gain));
    RecordProperty("demote_" + comm, std::to_string(demote[comm]));
  }
}

TEST(RunQueueChain, ExploreTrainAndEvaluateRecoverTheKnownPolicy) {
  if (kSanitized) GTEST_SKIP() << "a whole training run; TrainRun's own tests run the same code";
  const Dataset train = Record(1, 1, 5.0);
  RunOptions options;
  options.out = testing::TempDir() + "/runqueue-chain-" + std::to_string(::getpid());
  options.teacher = "none";  // nothing is told in advance
  options.hidden = {32, 32};
  options.grpo.states = 64;
  options.grpo.phases = {{.updates = 120}};
  options.grpo.kl_weight_first = options.grpo.kl_weight_last = 0.01;
  options.grpo.learning_rate_first = 3e-3;
  const RunResult run = TrainRun(train, {}, options);
  EXPECT_EQ(run.certificate.verdict, CertificateVerdict::kActs) << run.certificate.why;
  EXPECT_TRUE(run.certificate.placebo_ok);

  const auto policy = MakePolicy(run.policy_path);
  const Dataset unseen = Record(2, 2, 6.0);
  policy->Bind(unseen.feature_names());
  auto profile = Profile(*policy, unseen);
  EXPECT_LT(profile["sim-periodic"], -0.2);
  EXPECT_GT(profile["sim-hog"], 0.1);
  EXPECT_LT(profile["sim-periodic"], profile["sim-messaging"] - 0.15);
  EXPECT_LT(profile["sim-messaging"], profile["sim-hog"]);
  const PairedDifference gain = Judge(*policy, unseen);
  EXPECT_TRUE(gain.evaluable) << gain.why;
  EXPECT_GT(gain.diff.lo, 0.0);
}

TEST(RunQueueGroup, MembersShareLuckAndUpdatesDoNot) {
  const auto reward = MakeReward("balanced");
  RunQueueGroup env(Load(1), *reward, FeatureSet::Extended(), {});
  const size_t width = env.observation_size();
  std::vector<double> first(2 * width);
  std::vector<double> rewards(8);
  std::vector<uint8_t> done(8);
  std::vector<double> after(8 * width);
  env.Reset({.update = 0, .groups = 2, .group_size = 4, .horizon = 2}, first);
  const std::vector<double> actions = {-0.5, -0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0};
  env.Step(actions, rewards, done, after);
  EXPECT_EQ(rewards[0], rewards[1]);
  EXPECT_EQ(rewards[2], rewards[3]);
  EXPECT_NE(rewards[0], rewards[2]);
  EXPECT_EQ(rewards[4], rewards[7]);
  EXPECT_EQ(done[0], 0);
  env.Step(actions, rewards, done, {});
  EXPECT_EQ(rewards[0], rewards[1]);
  EXPECT_EQ(done[0], 1);

  std::vector<double> again(2 * width);
  env.Reset({.update = 0, .groups = 2, .group_size = 4, .horizon = 1}, again);
  EXPECT_EQ(first, again);
  env.Reset({.update = 1, .groups = 2, .group_size = 4, .horizon = 1}, again);
  EXPECT_NE(first, again);
}

}  // namespace
}  // namespace kernelx
