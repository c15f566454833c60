// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/preprocess/feature_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "kernelx/preprocess/test_recording.h"

namespace kernelx {
namespace {

TEST(Symlog, InvertsToRounding) {
  for (const double x : {0.0, 1e-6, -1e-6, 1.0, -1.0, 1e5, -1e5, 1.8446744073709552e19}) {
    EXPECT_NEAR(Symexp(Symlog(x)), x, 1e-9 * std::abs(x)) << x;
  }
  EXPECT_NEAR(Symlog(1e5), 11.512935, 1e-6);
  EXPECT_EQ(Symlog(-3.0), -Symlog(3.0));
}

TEST(FeatureSet, TheExtendedSetOpensWithTheSeeds) {
  const auto seed = FeatureSet::Seed().names();
  const auto extended = FeatureSet::Extended().names();
  ASSERT_EQ(seed.size(), 10U);
  EXPECT_TRUE(std::equal(seed.begin(), seed.end(), extended.begin()));
}

TEST(FeatureSet, PoliciesAndTheMetricDoNotSeeTheKnob) {
  for (const Feature& feature : FeatureSet::Extended().features()) {
    if (feature.kind != FeatureKind::kSlot) continue;
    if (feature.slot == kSlotPrio || feature.slot == kSlotStaticPrio ||
        feature.slot == kSlotNormalPrio || feature.slot == kSlotSliceNs) {
      EXPECT_FALSE(feature.policy) << feature.name;
      EXPECT_EQ(feature.metric_weight, 0.0) << feature.name;
    }
  }
}

TEST(FeatureSet, FindsByName) {
  EXPECT_EQ(FeatureSet::Seed().Find("exec_ns"), 4);
  EXPECT_EQ(FeatureSet::Seed().Find("wt_us"), 9);
  EXPECT_EQ(FeatureSet::Seed().Find("wait_ema"), -1);
}

TEST(FeatureSet, ASidecarReadsBackToTheSameSet) {
  for (const FeatureSet* set : {&FeatureSet::Seed(), &FeatureSet::Extended()}) {
    const std::vector<double> mean(set->size(), 0.1);
    const std::vector<double> sd(set->size(), 1.0 / 3);
    const std::string text = set->ToJson(mean, sd);
    const FeatureSet back = FeatureSet::FromJson(text, "features.json");
    EXPECT_EQ(back.name(), set->name());
    EXPECT_EQ(back.ToJson(mean, sd), text);
    ASSERT_EQ(back.size(), set->size());
    for (size_t i = 0; i < set->size(); ++i) {
      const Feature& a = set->features()[i];
      const Feature& b = back.features()[i];
      EXPECT_EQ(std::tie(a.name, a.kind, a.slot, a.transform, a.scale, a.policy, a.metric_weight),
                std::tie(b.name, b.kind, b.slot, b.transform, b.scale, b.policy, b.metric_weight));
    }
    EXPECT_EQ(nlohmann::json::parse(text)["features"][0]["sd"].get<double>(), 1.0 / 3);
    EXPECT_EQ(text.back(), '\n');
  }
}

TEST(FeatureSet, ReadsTheSeedsConfiguration) {
  const FeatureSet set = FeatureSet::FromJson(
      R"({"symlog_features": [4, 5, 6], "active_features": [0, 1, 2, 3, 4, 5, 6, 7, 12, 23],
          "feature_names": ["cpu","prio","sprio","nprio","exec_ns","vrt","migr","cpus","csw",
                            "wt_us"], "sparse_zero_features": [8, 9]})",
      "config.json");
  for (size_t i = 0; i < 10; ++i) {
    const Feature& a = FeatureSet::Seed().features()[i];
    const Feature& b = set.features()[i];
    EXPECT_EQ(std::tie(a.name, a.kind, a.slot, a.transform),
              std::tie(b.name, b.kind, b.slot, b.transform));
  }
}

struct BadSet {
  std::string name;
  std::string text;
  std::string says;
};

class BadFeatureSet : public ::testing::TestWithParam<BadSet> {};

TEST_P(BadFeatureSet, IsRefusedNamingTheFault) {
  const std::string what = WhatOf(ErrorCode::kBadInput,
                                  [&] { (void)FeatureSet::FromJson(GetParam().text, "set.json"); });
  EXPECT_EQ(what.find("set.json"), 0U) << what;
  EXPECT_NE(what.find(GetParam().says), std::string::npos) << what;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, BadFeatureSet,
    ::testing::Values(
        BadSet{"NotJson", "{", "not JSON"}, BadSet{"Array", "[]", "\"features\" is missing"},
        BadSet{"NoFeatures", "{}", "\"features\" is missing"},
        BadSet{"NotAList", R"({"features": "prio"})", "\"features\" has the wrong type"},
        BadSet{"Empty", R"({"features": []})", "no feature at all"},
        BadSet{"NoName", R"({"features": [{"kind": "slot"}]})", "\"name\" is missing"},
        BadSet{"Kind", R"({"features": [{"name": "x", "kind": "burts_ema"}]})",
               "kind \"burts_ema\" is unknown"},
        BadSet{"SlotMissing", R"({"features": [{"name": "x", "kind": "slot"}]})",
               "\"slot\" is missing"},
        BadSet{"Slot24", R"({"features": [{"name": "x", "kind": "slot", "slot": 24}]})",
               "slot 24 does not exist"},
        BadSet{"SlotNegative", R"({"features": [{"name": "x", "kind": "slot", "slot": -1}]})",
               "slot -1 does not exist"},
        BadSet{"SlotFraction", R"({"features": [{"name": "x", "kind": "slot", "slot": 4.5}]})",
               "slot 4.5 does not exist"},
        BadSet{"SlotHuge", R"({"features": [{"name": "x", "kind": "slot", "slot": 4294967300}]})",
               "does not exist"},
        BadSet{"SlotBool", R"({"features": [{"name": "x", "kind": "slot", "slot": true}]})",
               "\"slot\" has the wrong type"},
        BadSet{"Transform",
               R"({"features": [{"name": "x", "kind": "wait_ema", "transform": "log"}]})",
               "transform \"log\" is unknown"},
        BadSet{"Scale", R"({"features": [{"name": "x", "kind": "wait_ema", "scale": 1e300}]})",
               "scale 1e+300 is out of range"},
        BadSet{"Weight",
               R"({"features": [{"name": "x", "kind": "wait_ema", "metric_weight": -1}]})",
               "metric_weight -1 is out of range"},
        BadSet{"Twice",
               R"({"features": [{"name": "x", "kind": "wait_ema"},
                                {"name": "x", "kind": "burst_ema"}]})",
               "\"x\" stands twice"},
        BadSet{"SeedNames",
               R"({"symlog_features": [], "active_features": [0, 1], "feature_names": ["a"]})",
               "1 feature_names for 2 active_features"},
        BadSet{"SeedSlot",
               R"({"symlog_features": [], "active_features": [99], "feature_names": ["a"]})",
               "slot 99 does not exist"},
        BadSet{"SeedSymlog",
               R"({"symlog_features": ["x"], "active_features": [1], "feature_names": ["a"]})",
               "\"symlog_features\" has the wrong type"}),
    [](const auto& info) { return info.param.name; });

TEST(FeatureSet, AMissingFileIsNamed) {
  const std::string what =
      WhatOf(ErrorCode::kFile, [] { (void)FeatureSet::Load("no-such-set.json"); });
  EXPECT_NE(what.find("no-such-set.json"), std::string::npos);
}

}  // namespace
}  // namespace kernelx
