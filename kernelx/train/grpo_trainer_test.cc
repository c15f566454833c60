// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/grpo_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "kernelx/ground/error.h"
#include "kernelx/nn/safetensors.h"
#include "kernelx/train/toy_env_test.h"

namespace kernelx {
namespace {

ToyBandit Target() {
  ToyBandit env;
  env.size = 3;
  env.reward = [](std::span<const double> x, double a, double luck) {
    return -(a - std::tanh(x[0])) * (a - std::tanh(x[0])) + luck;
  };
  env.luck = [](Rng& rng) { return rng.Normal(); };
  return env;
}

GrpoOptions Small(uint64_t updates, size_t horizon = 1) {
  GrpoOptions options;
  options.states = 20;
  options.group_size = 8;
  options.phases = {{.updates = updates / 2},
                    {.updates = updates - updates / 2, .horizon = horizon}};
  return options;
}

bool SameWeights(const MlpPolicy& a, const MlpPolicy& b) {
  const auto p = a.net().parameters();
  const auto q = b.net().parameters();
  return p.size() == q.size() && std::memcmp(p.data(), q.data(), p.size_bytes()) == 0;
}

MlpPolicy Train(GroupEnv& env, const MlpPolicy& start, const GrpoOptions& options,
                std::vector<UpdateMetrics>* log = nullptr) {
  GrpoTrainer trainer(start, env, options);
  trainer.Run([&](const UpdateMetrics& m) {
    if (log != nullptr) log->push_back(m);
    return true;
  });
  return trainer.policy();
}

TEST(GrpoTrainer, SameSeedSameBitsForAnyThreadCount) {
  ToyBandit env = Target();
  GrpoOptions options = Small(20);
  const MlpPolicy start = ToyPolicy(3, 0.5);
  const MlpPolicy one = Train(env, start, options);
  EXPECT_FALSE(SameWeights(one, start));
  for (const unsigned threads : {2U, 4U}) {
    options.threads = threads;
    EXPECT_TRUE(SameWeights(Train(env, start, options), one)) << threads;
  }
  options.seed = 2;
  EXPECT_FALSE(SameWeights(Train(env, start, options), one));
}

TEST(GrpoTrainer, ThreadsDoNotChangeLongEpisodesEither) {
  ToyRegulator env;
  GrpoOptions options = Small(10, 3);
  const MlpPolicy start = ToyPolicy(ToyRegulator::kSize, 0.3);
  const MlpPolicy one = Train(env, start, options);
  options.threads = 3;
  EXPECT_TRUE(SameWeights(Train(env, start, options), one));
}

class Checkpoint : public testing::Test {
 protected:
  std::string folder_ = testing::TempDir() + "kernelx_checkpoint_test";
  ~Checkpoint() override { std::filesystem::remove_all(folder_); }
};

TEST_F(Checkpoint, ResumedRunIsBitIdenticalToAnUninterruptedOne) {
  ToyRegulator env;
  const GrpoOptions options = Small(200, 3);  // the horizon changes at the checkpoint
  const MlpPolicy start = ToyPolicy(ToyRegulator::kSize, 0.3);
  std::vector<UpdateMetrics> log;
  const MlpPolicy whole = Train(env, start, options, &log);

  GrpoTrainer first(start, env, options);
  first.Run([](const UpdateMetrics& m) { return m.update < 99; });
  ASSERT_EQ(first.update(), 100U);
  first.Save(folder_);

  // Another policy object, with other weights: everything must come from the files.
  GrpoTrainer second(ToyPolicy(ToyRegulator::kSize, 0.4, 9), env, options);
  second.Resume(folder_);
  EXPECT_EQ(second.update(), 100U);
  second.Run([&](const UpdateMetrics& m) {
    const auto& before = log[static_cast<size_t>(m.update)];
    EXPECT_EQ(std::memcmp(&m, &before, sizeof(m)), 0) << m.update;
    return true;
  });
  EXPECT_TRUE(SameWeights(second.policy(), whole));
}

TEST_F(Checkpoint, PolicyFileIsFitForUse) {
  ToyBandit env = Target();
  GrpoTrainer trainer(ToyPolicy(3, 0.5), env, Small(4));
  trainer.Update();
  trainer.Save(folder_);
  const MlpPolicy policy = MlpPolicy::Load(folder_ + "/policy.safetensors");
  EXPECT_TRUE(SameWeights(policy, trainer.policy()));
  EXPECT_EQ(policy.spec().provenance.at("update"), "1");
}

TEST_F(Checkpoint, RefusesWhatDoesNotBelongTogether) {
  ToyBandit env = Target();
  const GrpoOptions options = Small(4);
  GrpoTrainer trainer(ToyPolicy(3, 0.5), env, options);
  trainer.Save(folder_);
  const std::string policy = folder_ + "/policy.safetensors";
  const std::string kept = testing::TempDir() + "kernelx_checkpoint_policy";
  std::filesystem::copy_file(policy, kept, std::filesystem::copy_options::overwrite_existing);
  trainer.Update();
  trainer.Save(folder_);

  const auto refusal = [&](const MlpPolicy& start, const GrpoOptions& run) {
    GrpoTrainer other(start, env, run);
    try {
      other.Resume(folder_);
    } catch (const Error& e) {
      EXPECT_EQ(other.update(), 0U);
      EXPECT_TRUE(SameWeights(other.policy(), start));
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(ToyPolicy(3, 0.5), options), "");
  GrpoOptions changed = options;
  changed.discount = 0.5;
  EXPECT_NE(refusal(ToyPolicy(3, 0.5), changed).find("same options"), std::string::npos);
  EXPECT_NE(refusal(ToyPolicy(3, 0.5, 1, {32}), options).find("layers"), std::string::npos);
  std::filesystem::copy_file(kept, policy, std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(refusal(ToyPolicy(3, 0.5), options).find("of update 1"), std::string::npos);
  std::filesystem::remove(kept);
  std::filesystem::remove(policy);
  EXPECT_NE(refusal(ToyPolicy(3, 0.5), options), "");
}

TEST(GrpoTrainer, FirstEpochIsOnPolicy) {
  ToyBandit env = Target();
  GrpoOptions options = Small(3);
  options.epochs = 1;
  GrpoTrainer trainer(ToyPolicy(3, 0.5), env, options);
  trainer.Run([](const UpdateMetrics& m) {
    EXPECT_EQ(m.clip_ratio, 0.0);
    EXPECT_EQ(m.policy_kl, 0.0);
    EXPECT_EQ(m.epochs, 1.0);
    EXPECT_EQ(m.samples, 160.0);
    return true;
  });
}

TEST(GrpoTrainer, StopsTheUpdateWhenThePolicyHasMovedFar) {
  ToyBandit env = Target();
  GrpoOptions options = Small(1);
  options.epochs = 50;
  options.learning_rate_first = options.learning_rate_last = 0.01;
  GrpoTrainer trainer(ToyPolicy(3, 0.5), env, options);
  const UpdateMetrics m = trainer.Update();
  EXPECT_GT(m.policy_kl, options.kl_stop);
  EXPECT_LT(m.epochs, 50.0);
  EXPECT_GE(m.epochs, 1.0);
}

TEST(GrpoTrainer, SchedulesRunFromFirstToLast) {
  GrpoOptions options;
  options.phases = {{.updates = 10, .horizon = 1}, {.updates = 11, .horizon = 5}};
  options.learning_rate_first = 1e-3;
  options.learning_rate_last = 1e-4;
  options.kl_weight_first = 0.05;
  options.kl_weight_last = 0.01;
  EXPECT_EQ(options.total_updates(), 21U);
  EXPECT_EQ(options.HorizonAt(9), 1U);
  EXPECT_EQ(options.HorizonAt(10), 5U);
  EXPECT_EQ(options.LearningRateAt(0), 1e-3);
  EXPECT_NEAR(options.LearningRateAt(10), 5.5e-4, 1e-12);
  EXPECT_NEAR(options.LearningRateAt(20), 1e-4, 1e-15);
  EXPECT_EQ(options.KlWeightAt(0), 0.05);
  EXPECT_NEAR(options.KlWeightAt(10), 0.03, 1e-12);
  EXPECT_NEAR(options.KlWeightAt(20), 0.01, 1e-15);
}

TEST(GrpoTrainer, RefusesOptionsThatMakeNoSense) {
  ToyBandit env = Target();
  const auto refused = [&](auto change) {
    GrpoOptions options = Small(2);
    change(options);
    EXPECT_THROW(GrpoTrainer(ToyPolicy(3, 0.5), env, options), Error);
  };
  refused([](GrpoOptions& o) { o.states = 0; });
  refused([](GrpoOptions& o) { o.group_size = 1; });
  refused([](GrpoOptions& o) { o.phases.clear(); });
  refused([](GrpoOptions& o) { o.phases[0].horizon = 0; });
  refused([](GrpoOptions& o) { o.discount = 1.5; });
  refused([](GrpoOptions& o) { o.epochs = 0; });
  refused([](GrpoOptions& o) { o.clip_low = 1.0; });
  refused([](GrpoOptions& o) { o.kl_weight_last = std::nan(""); });
  EXPECT_THROW(GrpoTrainer(ToyPolicy(4, 0.5), env, Small(2)), Error);
  EXPECT_THROW((void)AdvantageScaleNamed("std"), Error);
}

std::string BadReward(double value) {
  ToyBandit env = Target();
  uint64_t calls = 0;
  env.reward = [&](auto, double, double) { return ++calls == 160 + 8 * 13 + 5 + 1 ? value : 0.5; };
  GrpoTrainer trainer(ToyPolicy(3, 0.5), env, Small(4));
  trainer.Update();
  const MlpPolicy before = trainer.policy();
  try {
    trainer.Update();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kBadInput);
    EXPECT_TRUE(SameWeights(trainer.policy(), before));
    return e.what();
  }
  return "";
}

TEST(GrpoTrainer, RewardThatIsNoNumberIsNamedWhereItEnters) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::string message = BadReward(value);
    EXPECT_NE(message.find("update 1, decision 0, state 13, member 5"), std::string::npos)
        << message;
  }
}

TEST(GrpoTrainer, ObservationThatIsNoNumberIsNamed) {
  struct Broken final : GroupEnv {
    [[nodiscard]] size_t observation_size() const override { return 3; }
    void Reset(const GroupRequest& request, std::span<double> observations) override {
      std::ranges::fill(observations, 0.5);
      if (request.update == 1) observations[7 * 3 + 2] = std::nan("");
    }
    void Step(std::span<const double> actions, std::span<double> rewards, std::span<uint8_t> done,
              std::span<double>) override {
      std::ranges::copy(actions, rewards.begin());
      std::ranges::fill(done, 1);
    }
  } env;
  GrpoTrainer trainer(ToyPolicy(3, 0.5), env, Small(4));
  trainer.Update();
  try {
    trainer.Update();
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("update 1, decision 0, state 7"), std::string::npos)
        << e.what();
  }
}

TEST(GrpoTrainer, MembersThatEndEarlyAreLeftOut) {
  // Members with a positive first action end at once; what the environment says of them later is
  // nonsense and must not be read.
  struct Halting final : GroupEnv {
    std::vector<uint8_t> over;
    [[nodiscard]] size_t observation_size() const override { return 1; }
    void Reset(const GroupRequest& request, std::span<double> observations) override {
      over.assign(request.groups * request.group_size, 0);
      std::ranges::fill(observations, 0.5);
    }
    void Step(std::span<const double> actions, std::span<double> rewards, std::span<uint8_t> done,
              std::span<double> observations) override {
      for (size_t m = 0; m < actions.size(); ++m) {
        rewards[m] = over[m] != 0 ? std::nan("") : 1.0;
        if (actions[m] > 0) over[m] = 1;
        done[m] = over[m];
        if (!observations.empty()) observations[m] = over[m] != 0 ? std::nan("") : 0.5;
      }
    }
  } env;
  GrpoOptions options = Small(60, 4);
  options.phases = {{.updates = 60, .horizon = 4}};
  options.learning_rate_first = 1e-2;
  std::vector<UpdateMetrics> log;
  const MlpPolicy policy = Train(env, ToyPolicy(1, 0.5), options, &log);
  EXPECT_LT(log.front().samples, 400.0);  // of 640
  EXPECT_EQ(log.front().reward, 1.0);
  // Living on is what pays.
  EXPECT_GT(log.back().samples, 550.0);
  EXPECT_LT(policy.Law(std::vector<double>{0.5}).Median(), -0.2);
}

}  // namespace
}  // namespace kernelx
