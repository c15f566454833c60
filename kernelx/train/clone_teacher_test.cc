// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/clone_teacher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernelx/ground/error.h"
#include "kernelx/train/toy_env_test.h"

namespace kernelx {
namespace {

struct Lesson {
  std::vector<double> states, actions;
};

/// A teacher with steps, as rules have: -1, 0 or 0.6 by two of four features.
Lesson RuleLesson(size_t n) {
  Lesson lesson;
  Rng rng(8);
  for (size_t i = 0; i < n; ++i) {
    double x[4];
    for (double& v : x) v = 100.0 + 20.0 * rng.Normal();
    lesson.states.insert(lesson.states.end(), std::begin(x), std::end(x));
    lesson.actions.push_back(x[0] < 90.0 ? -1.0 : x[2] > 115.0 ? 0.6 : 0.0);
  }
  return lesson;
}

TEST(CloneTeacher, LearnsARuleWithSteps) {
  const Lesson lesson = RuleLesson(20'000);
  MlpPolicy policy = ToyPolicy(4, 0.5);
  policy.FitNormaliser(lesson.states, 4);
  const CloneReport report = CloneTeacher(policy, lesson.states, lesson.actions,
                                          {.min_steps = 500, .learning_rate_first = 5e-3});
  EXPECT_LE(report.error, 0.05);
  EXPECT_NEAR(static_cast<double>(report.held_out), 2000.0, 150.0);
  EXPECT_EQ(report.held_out + report.trained_on, 20'000U);
  // In the middle of each region; the teacher's -1 is cloned as -0.9.
  EXPECT_NEAR(policy.Law(std::vector<double>{70, 100, 100, 100}).Median(), -0.9, 0.05);
  EXPECT_NEAR(policy.Law(std::vector<double>{110, 100, 130, 100}).Median(), 0.6, 0.05);
  EXPECT_NEAR(policy.Law(std::vector<double>{110, 100, 95, 100}).Median(), 0.0, 0.05);
  for (const double x : {60.0, 100.0, 140.0}) {
    EXPECT_NEAR(std::exp(policy.Law(std::vector<double>{x, x, x, x}).log_std), 0.3, 1e-6);
  }
}

TEST(CloneTeacher, SameBitsForAnyThreadCount) {
  const Lesson lesson = RuleLesson(600);
  const auto clone = [&](unsigned threads) {
    MlpPolicy policy = ToyPolicy(4, 0.5);
    policy.FitNormaliser(lesson.states, 4);
    CloneTeacher(policy, lesson.states, lesson.actions, {.min_steps = 50, .threads = threads});
    return std::vector<float>(policy.net().parameters().begin(), policy.net().parameters().end());
  };
  EXPECT_EQ(clone(1), clone(4));
}

TEST(CloneTeacher, AFewStatesAreEnoughToRun) {
  MlpPolicy policy = ToyPolicy(2, 0.5);
  const std::vector<double> states = {0.0, 1.0, 1.0, 0.0};
  const CloneReport report = CloneTeacher(policy, states, std::vector<double>{0.5, -0.5});
  EXPECT_EQ(report.trained_on, 2U);
  EXPECT_LE(report.error, 0.01);
}

TEST(CloneTeacher, RefusesWhatIsNoLesson) {
  MlpPolicy policy = ToyPolicy(2, 0.5);
  const std::vector<double> one = {0.5};
  const std::vector<double> nan = {std::nan("")};
  const std::vector<double> pair = {0.5, 0.5};
  const std::vector<double> broken = {0.5, std::nan("")};
  EXPECT_THROW(CloneTeacher(policy, one, one), Error);
  EXPECT_THROW(CloneTeacher(policy, {}, {}), Error);
  EXPECT_THROW(CloneTeacher(policy, pair, nan), Error);
  EXPECT_THROW(CloneTeacher(policy, broken, one), Error);
}

}  // namespace
}  // namespace kernelx
