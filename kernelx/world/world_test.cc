// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>

#include "kernelx/env/test_scenario.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"
#include "kernelx/nn/safetensors.h"
#include "kernelx/world/fit.h"
#include "kernelx/world/fit_data.h"
#include "kernelx/world/judge.h"
#include "kernelx/world/world_dynamics.h"

namespace kernelx {
namespace {

constexpr double kSlope = 1.5;  // of ln(1 + wait) in the action
constexpr double kZero = 0.3;   // share of events without a wait

enum class Law { kRandomised, kObservational };

/// Events of many tasks: waits are log-normal around 5 + kSlope a, 30 % of them zero. In the
/// observational law the action follows the task's own level: confounded, and never drawn.
Dataset Generate(size_t tasks, size_t events, Law law, uint64_t seed) {
  const FeatureSet& set = FeatureSet::Extended();
  DatasetBuilder builder(set.names(),
                         kExactColumns | ColumnBits(Column::kBehavior, Column::kApplied));
  builder.set_sidecar(set.ToJson());
  builder.set_source("generated");
  const EventFeatures features(set.names(), "generated");
  for (size_t task = 0; task < tasks; ++task) {
    Rng rng(seed, task);
    const double level = rng.Normal();
    std::vector<double> state(set.size(), 0.0), next(set.size());
    state[static_cast<size_t>(set.Find("runnable"))] = 1.4;
    uint64_t now = 1'000'000'000;
    double standing = 0.0;
    uint64_t wait = 50;
    for (size_t k = 0; k < events; ++k) {
      const bool drawn = law == Law::kRandomised && rng.Uniform() < 0.5;
      double action = drawn ? rng.Uniform(-1.0, 1.0) : standing;
      if (law == Law::kObservational) action = std::tanh(level);
      const double effect = law == Law::kRandomised ? kSlope * action : 0.0;
      TaskEvent event;
      if (rng.Uniform() >= kZero) {
        event.wait_us =
            std::max(1.0, std::round(std::expm1(5.0 + effect + 0.5 * level + 0.7 * rng.Normal())));
      }
      event.exec_us = std::expm1(4.0 + 0.3 * rng.Normal());
      event.sleep_us = 1000.0;
      event.wake = {0.0, 1.0, 0.0, 0.0};
      features.Advance(state.data(), event, action, next.data());
      const auto dt_ns = static_cast<uint64_t>(1e3 * event.dt_us());
      builder.Append(Row{.state = state,
                         .next_state = next,
                         .action = action,
                         .pid = static_cast<int32_t>(task + 1),
                         .timestamp_ns = now,
                         .next_timestamp_ns = now + dt_ns,
                         .start_ns = 5,
                         .delta = {.exec_ns = static_cast<uint64_t>(1e3 * event.exec_us),
                                   .wait_us = wait,
                                   .next_wait_us = static_cast<uint64_t>(event.wait_us),
                                   .sleep_us = 1000},
                         .behavior = {.known = true,
                                      .drawn = drawn,
                                      .mode = DrawMode::kTask,
                                      .window = 0,
                                      .p_draw = 0.5,
                                      .p_zero = 0.0},
                         .applied = {.known = true, .in_force = true},
                         .comm = ""});
      now += dt_ns;
      wait = static_cast<uint64_t>(event.wait_us);
      standing = action;
      state = next;
    }
  }
  return std::move(builder).Build();
}

WorldFitOptions Small() {
  WorldFitOptions options;
  options.members = 2;
  options.base_hidden = {32};
  options.effect_hidden = {16};
  options.batch = 128;
  options.epochs = 6;
  options.effect_epochs = 14;
  options.learning_rate = 4e-3;
  options.threads = 1;
  return options;
}

const Dataset& Randomised() {
  static const Dataset data = Generate(60, 250, Law::kRandomised, 1);
  return data;
}

const WorldModel& Fitted() {
  static const WorldModel model = FitWorld(Randomised(), Small());
  return model;
}

/// Mean over rows of the change of the expected ln(1 + wait) per unit of action.
double EffectOf(const WorldModel& model, const Dataset& data) {
  const EventFeatures features(data.feature_names(), "test");
  WorldBlock block(model.members.front());
  std::vector<float> inputs(EventFeatures::kInputs);
  double sum = 0.0;
  size_t n = 0;
  for (uint32_t row = 0; row < data.size(); row += 37) {
    const double* state = data.state(row).data();
    for (const WorldMember& member : model.members) {
      model.Encode(features, state, inputs);
      block.Set(0, inputs, state[features.previous_action()], -0.8);
      block.Set(1, inputs, state[features.previous_action()], 0.8);
      block.Forward(member, 2);
      double mean[2];
      for (size_t c = 0; c < 2; ++c) {
        std::array<double, kWaitBins> p;
        WaitProbabilities(block.out(c), std::span<double, kWaitBins>(p));
        mean[c] = WaitLaw(p).Mean();
      }
      sum += (mean[1] - mean[0]) / 1.6;
      ++n;
    }
  }
  return sum / static_cast<double>(n);
}

TEST(Heads, GradientIsThatOfTheLossByDifferences) {
  Rng rng(3);
  std::vector<double> out(kHeadOutputs), gradient(kHeadOutputs), unused;
  for (double& o : out) o = rng.Normal();
  HeadTarget target{.bin = 20, .wake = 1, .value = {0.3F, -0.7F, 1.0F, 0.0F, -2.0F}};
  EvaluateHeads<double>(out, target, gradient, 1.0);
  const auto nll = [&](size_t part) {
    const HeadLoss loss = EvaluateHeads<double>(out, target, {}, 0.0);
    return part == 0 ? loss.wait + loss.wake : loss.gaussian[0];
  };
  constexpr double kStep = 1e-6;
  const auto difference = [&](size_t k, size_t part) {
    const double at = out[k];
    out[k] = at + kStep;
    const double up = nll(part);
    out[k] = at - kStep;
    const double down = nll(part);
    out[k] = at;
    return (up - down) / (2.0 * kStep);
  };
  for (size_t k = 0; k < kWaitBins + kWakes; ++k) EXPECT_NEAR(gradient[k], difference(k, 0), 1e-7);
  // beta-NLL: the gradient of the likelihood times the standard deviation.
  const size_t at = kWaitBins + kWakes;
  const double sd = gradient[at] / difference(at, 1);
  EXPECT_GT(sd, 0.0);
  EXPECT_NEAR(gradient[at + 1] / difference(at + 1, 1), sd, 1e-6);
}

TEST(Heads, LawOfTwoBinsByHand) {
  std::array<double, kWaitBins> p{};
  p[0] = 0.25;
  p[1] = 0.75;
  const WaitLaw law(p);
  EXPECT_EQ(law.Quantile(0.2), 0.0);
  EXPECT_NEAR(law.Quantile(0.25 + 0.375), WaitBins::kLow + 0.5 * WaitBins::kWidth, 1e-12);
  EXPECT_NEAR(law.Mean(), 0.75 * (WaitBins::kLow + 0.5 * WaitBins::kWidth), 1e-12);
  EXPECT_NEAR(law.LogLoss(0.0), -std::log(0.25), 1e-12);
  EXPECT_NEAR(law.LogLoss(0.6), -std::log(0.75 / WaitBins::kWidth), 1e-12);
  // No wait: F is 1/4 up to the first bin and rises to 1 in it.
  EXPECT_NEAR(law.Crps(0.0), WaitBins::kLow * 0.5625 + WaitBins::kWidth * 0.1875, 1e-12);
}

TEST(Heads, SymlogComesBack) {
  for (const double x : {0.0, 1e-6, -1e-6, 1.0, -1.0, 1e5, -1e5}) {
    EXPECT_NEAR(Symexp(Symlog(x)), x, 1e-9 * std::abs(x));
  }
  EXPECT_NEAR(Symlog(1e5), 11.512935, 1e-6);
}

/// From the recorded event, the features of the next state come out as the extractor made them.
TEST(EventFeatures, AdvanceAgreesWithTheExtractor) {
  const Dataset& data = Sample();
  const EventFeatures features(data.feature_names(), "sample");
  const auto column = [&](const char* name) {
    return static_cast<size_t>(std::ranges::find(data.feature_names(), name) -
                               data.feature_names().begin());
  };
  std::vector<double> next(data.feature_count());
  size_t agree = 0, rows = 0;
  for (uint32_t row = 0; row < data.size(); ++row) {
    features.Advance(data.state(row).data(), features.Recorded(data, row), data.action()[row],
                     next.data());
    const auto truth = data.next_state(row);
    EXPECT_NEAR(next[column("exec_ns")], truth[column("exec_ns")], 1e-6);
    EXPECT_NEAR(next[column("wait")], truth[column("wait")], 1e-9);
    EXPECT_GE(next[column("vrt")], data.state(row)[column("vrt")]);
    // The first eight events of a task average at another rate.
    bool same = true;
    for (const char* name : {"wait_ema", "burst_ema", "timer_share", "irq_share", "task_share",
                             "preempted_share", "sleep_ema", "cpu_since_sleep"}) {
      same = same && std::abs(next[column(name)] - truth[column(name)]) < 1e-3;
    }
    agree += same ? 1 : 0;
    ++rows;
  }
  EXPECT_GT(static_cast<double>(agree) / static_cast<double>(rows), 0.8);
}

TEST(Fit, RecoversTheGenerator) {
  const WorldModel& model = Fitted();
  EXPECT_NEAR(EffectOf(model, Randomised()), kSlope * (1.0 - kZero), 0.15);
  const Dataset fresh = Generate(30, 200, Law::kRandomised, 9);
  const WorldReport report = JudgeWorld(model, Randomised(), fresh,
                                        {.judged_rows = 4000, .baseline_rows = 2000, .threads = 1});
  const PredictionReport& all = report.prediction.front();
  for (size_t b = 1; b < all.scores.size(); ++b) {
    EXPECT_GT(all.scores[b].nll_gain.low, 0.0) << all.scores[b].name;
  }
  EXPECT_NEAR(all.cover80.value, 0.8, 0.12);  // an atom of 30 % makes it coarse
  EXPECT_NEAR(all.cover95.value, 0.95, 0.03);
  ASSERT_FALSE(report.effects.empty());
  EXPECT_TRUE(report.effects.front().slopes.front().sign_right());
}

TEST(Fit, SameForAnyThreadsAndTakenUpFromACheckpoint) {
  const Dataset data = Generate(20, 60, Law::kRandomised, 2);
  WorldFitOptions options = Small();
  options.epochs = options.effect_epochs = 2;
  const WorldModel one = FitWorld(data, options);
  options.threads = 3;
  // The first member from a checkpoint: stop after it by an exception.
  options.checkpoint = testing::TempDir() + "/world.part";
  struct Stop {};
  EXPECT_THROW(FitWorld(data, options,
                        [](const WorldFitProgress& at) {
                          if (at.member == 1) throw Stop{};
                        }),
               Stop);
  ASSERT_TRUE(std::filesystem::exists(options.checkpoint));
  const WorldModel resumed = FitWorld(data, options);
  EXPECT_FALSE(std::filesystem::exists(options.checkpoint));
  ASSERT_EQ(one.members.size(), resumed.members.size());
  for (size_t m = 0; m < one.members.size(); ++m) {
    EXPECT_TRUE(
        std::ranges::equal(one.members[m].base.parameters(), resumed.members[m].base.parameters()));
    EXPECT_TRUE(std::ranges::equal(one.members[m].effect.parameters(),
                                   resumed.members[m].effect.parameters()));
  }
}

/// More patience finds nothing here, and what it tried leaves no trace.
TEST(Fit, KeepsTheWeightsOfTheBestEpoch) {
  const Dataset data = Generate(20, 60, Law::kRandomised, 6);
  WorldFitOptions options = Small();
  options.members = options.rounds = 1;
  options.effect_epochs = 1;
  options.epochs = 40;
  options.learning_rate = 0.02;  // too fast and too long for these few rows
  const auto fit = [&](int patience, std::vector<double>& losses) {
    options.patience = patience;
    return FitWorld(data, options, [&](const WorldFitProgress& at) {
      if (!at.effect) losses.push_back(at.held_out);
    });
  };
  std::vector<double> all, few;
  const WorldModel patient = fit(100, all);
  const WorldModel hasty = fit(8, few);
  ASSERT_EQ(all.size(), 40U);
  ASSERT_EQ(std::ranges::min(all), std::ranges::min(few));
  ASSERT_LT(few.size(), all.size());
  EXPECT_GT(all.back(), std::ranges::min(all) + 1e-3);
  EXPECT_TRUE(
      std::ranges::equal(patient.members[0].base.parameters(), hasty.members[0].base.parameters()));
}

TEST(Fit, ObservationalRowsTeachNoEffect) {
  const Dataset data = Generate(20, 60, Law::kObservational, 4);
  const WorldModel model = FitWorld(data, Small());
  EXPECT_EQ(EffectOf(model, data), 0.0);
}

TEST(Fit, ShuffledActionsTeachNone) {
  const Dataset& data = Randomised();
  std::vector<double> actions(data.action().begin(), data.action().end());
  Rng rng(8);
  for (size_t i = actions.size(); i > 1; --i) std::swap(actions[i - 1], actions[rng.Below(i)]);
  const WorldModel refit = RefitEffect(Fitted(), data, actions, 0, 1);
  const double none = std::abs(EffectOf(refit, data));
  EXPECT_LT(none, 0.15);
  EXPECT_GT(EffectOf(RefitEffect(Fitted(), data, data.action(), 0, 1), data), 3.0 * none);
}

TEST(WorldModel, FileRoundTrip) {
  const std::string path = testing::TempDir() + "/world.safetensors";
  Fitted().Save(path);
  const WorldModel read = WorldModel::Load(path);
  EXPECT_EQ(read.mean, Fitted().mean);
  EXPECT_EQ(read.provenance, Fitted().provenance);
  EXPECT_EQ(EffectOf(read, Randomised()), EffectOf(Fitted(), Randomised()));
  Safetensors other;
  other.Save(path);
  EXPECT_THROW(WorldModel::Load(path), Error);
}

class WorldDynamicsTest : public testing::Test {
 protected:
  std::shared_ptr<const Scenario> Make(const std::string& options, int hold = 5) {
    const std::string path = testing::TempDir() + "/dynamics.safetensors";
    Fitted().Save(path);
    RegisterDynamics("world", MakeWorldDynamics);
    return MakeScenario(Randomised(),
                        {.dynamics = "world:" + path + options, .hold = hold, .threads = 1});
  }
};

TEST_F(WorldDynamicsTest, EqualKeysAndActionsGiveEqualStepsWhateverTheBatch) {
  const auto scenario = Make("");
  VectorEnv many(scenario, 20, 5);
  VectorEnv one(scenario, 1, 5);
  for (size_t i = 0; i < many.size(); ++i) many.ResetTo(i, scenario->start(3), 77);
  one.ResetTo(0, scenario->start(3), 77);
  std::vector<double> actions(many.size(), 0.5);
  actions[19] = -0.5;
  many.Step(actions);
  one.Step(std::vector<double>{0.5});
  for (size_t i = 0; i < 19; ++i) EXPECT_EQ(many.total()[i], one.total()[0]);
  EXPECT_TRUE(std::ranges::equal(many.features(7), one.features(0)));
  EXPECT_GT(TermOf(many, "latency", 19), TermOf(many, "latency", 0));  // a boost waits less
}

TEST_F(WorldDynamicsTest, CountersNeverFallAndStatesStayInBounds) {
  const auto scenario = Make("");
  VectorEnv env(scenario, 8, 1, AutoReset::kSameStep);
  env.Reset();
  std::vector<double> actions(8);
  Rng rng(2);
  for (int step = 0; step < 9; ++step) {  // within an episode
    const std::vector<double> before(env.features().begin(), env.features().end());
    for (double& a : actions) a = rng.Uniform(-1.0, 1.0);
    env.Step(actions);
    const size_t width = scenario->feature_count();
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_GT(env.features(i)[4], before[i * width + 4]);
      EXPECT_GE(env.features(i)[5], before[i * width + 5]);
      for (const double v : env.features(i)) EXPECT_TRUE(std::isfinite(v));
    }
  }
}

TEST_F(WorldDynamicsTest, MeanPenaltyAndStop) {
  const std::vector<double> actions(4, 0.3);
  const auto total = [&](const std::string& options) {
    VectorEnv env(Make(options), 4, 9);
    env.Reset();
    env.Step(actions);
    return std::accumulate(env.total().begin(), env.total().end(), 0.0) / 4.0;
  };
  EXPECT_LT(total(",penalty=2"), total(",penalty=0.5"));
  EXPECT_TRUE(std::isfinite(total(",mean")));
  EXPECT_TRUE(std::isfinite(total(",stop,draws=2")));
  EXPECT_THROW(Make(",nonsense"), Error);
  EXPECT_THROW(Make(",draws=0"), Error);
}

/// 4096 environments at once, as 256 groups of 16 clones: the same bits as one by one, and one
/// clone's luck is that of its group.
TEST_F(WorldDynamicsTest, AVectorStepIsThatOfEachAloneAndClonesShareLuck) {
  const auto scenario = Make(",draws=2");
  constexpr size_t kMany = 4096, kGroup = 16;
  VectorEnv many(scenario, kMany, 5);
  const auto start = [&](size_t i) { return scenario->start(i / kGroup % 40); };
  for (size_t i = 0; i < kMany; ++i) many.ResetTo(i, start(i), 100 + i / kGroup);
  std::vector<double> actions(kMany);
  for (size_t i = 0; i < kMany; ++i) actions[i] = i % kGroup < 8 ? 0.25 : -0.5;
  many.Step(actions);
  for (size_t i = 0; i < kMany; i += 509) {
    VectorEnv one(scenario, 1, 5);
    one.ResetTo(0, start(i), 100 + i / kGroup);
    one.Step(std::span(actions).subspan(i, 1));
    EXPECT_EQ(many.total()[i], one.total()[0]);
    EXPECT_TRUE(std::ranges::equal(many.features(i), one.features(0)));
  }
  size_t other_luck = 0;
  for (size_t i = 0; i < kMany; i += kGroup) {
    EXPECT_EQ(many.total()[i], many.total()[i + 7]);
    EXPECT_NE(many.total()[i], many.total()[i + 8]);
    // 40 groups on, the same state and actions meet other luck.
    if (i + 40 * kGroup < kMany && many.total()[i] != many.total()[i + 40 * kGroup]) ++other_luck;
  }
  EXPECT_GT(other_luck, kMany / kGroup / 2);
}

}  // namespace
}  // namespace kernelx
