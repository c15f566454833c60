// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/policy/registry.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

double Act(const std::string& name, const std::vector<std::string>& names,
           const std::vector<double>& state) {
  const auto policy = MakePolicy(name);
  EXPECT_EQ(policy->name(), name);
  policy->Bind(names);
  return policy->Law(state).Median();
}

TEST(MakePolicy, FixedOnes) {
  EXPECT_EQ(Act("none", {}, {}), 0.0);
  EXPECT_EQ(Act("constant:-0.5", {}, {}), -0.5);
  EXPECT_EQ(Act("constant:1", {"a"}, {3.0}), 1.0);
  EXPECT_EQ(MakePolicy("random")->Law({}).kind, ActionLaw::Kind::kUniform);
}

TEST(MakePolicy, HeuristicHasTheSeedsThresholds) {
  const std::vector<std::string> names = {"csw", "wt_us"};
  EXPECT_EQ(Act("heuristic", names, {0.0, 15.1}), -0.6);
  EXPECT_EQ(Act("heuristic", names, {10.1, 15.0}), -0.3);
  EXPECT_EQ(Act("heuristic", names, {10.0, 15.0}), 0.05);
  EXPECT_EQ(Act("heuristic", names, {0.0, 3.0}), 0.05);
  EXPECT_EQ(Act("heuristic", names, {0.0, 2.9}), 0.1);
  EXPECT_EQ(Act("heuristic", names, {0.0, std::nan("")}), 0.0);
}

TEST(MakePolicy, InteractiveTellsThreeKindsOfTask) {
  const std::vector<std::string> names = {"wake_irregularity", "timer_share", "cpu_since_sleep"};
  EXPECT_EQ(Act("interactive", names, {0.1, 0.0, std::log1p(90e3)}), -1.0);
  EXPECT_EQ(Act("interactive", names, {2.0, 0.9, 0.0}), -1.0);
  EXPECT_EQ(Act("interactive", names, {2.0, 0.0, std::log1p(51e3)}), 0.6);
  EXPECT_EQ(Act("interactive", names, {2.0, 0.0, std::log1p(49e3)}), 0.0);
}

TEST(MakePolicy, RefusesWhatItDoesNotKnow) {
  for (const char* name : {"", "nonesuch", "constant:", "constant:1.1", "constant:nan",
                           "constant:0.5x", "constant", "policy.txt"}) {
    try {
      (void)MakePolicy(name);
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kUsage);
    }
  }
  try {
    (void)MakePolicy("nonesuch");
  } catch (const Error& e) {
    for (const std::string& name : PolicyNames()) {
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos);
    }
  }
}

TEST(MakePolicy, RuleNamesTheFeatureThatIsMissing) {
  const std::vector<std::string> names = {"csw"};
  try {
    MakePolicy("heuristic")->Bind(names);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("wt_us"), std::string::npos);
  }
}

}  // namespace
}  // namespace kernelx
