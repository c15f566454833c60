// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernelx/evaluate/test_evaluation.h"

namespace kernelx {
namespace {

using Json = nlohmann::ordered_json;

TEST(EvaluationJson, HasTheKeysOtherToolsRead) {
  const Json json = Json::parse(EvaluationJson(MadeUpEvaluation()));
  ASSERT_EQ(json["policies"].size(), 3U);
  const Json& mine = json["policies"][0];
  EXPECT_EQ(mine["name"], "mine");
  EXPECT_DOUBLE_EQ(mine["total"], 1.3);
  EXPECT_DOUBLE_EQ(mine["ci95"][0], 1.3 - 0.0625);
  EXPECT_DOUBLE_EQ(mine["ci95"][1], 1.3 + 0.125);
  EXPECT_DOUBLE_EQ(mine["terms"]["latency"], 1.55);
  EXPECT_FALSE(mine["terms"].contains("total"));
  EXPECT_DOUBLE_EQ(mine["model"]["total"], 1.8);

  const Json& pair = json["paired"][0];
  EXPECT_EQ(pair["policy"], "mine");
  EXPECT_EQ(pair["versus"], "none");
  EXPECT_EQ(pair["estimator"], "dr");
  EXPECT_DOUBLE_EQ(pair["diff"], 1.31);
  EXPECT_DOUBLE_EQ(pair["ci95"][1], 1.31 + 0.125);
  EXPECT_EQ(pair["ess"], 2000.0);
  EXPECT_EQ(pair["evaluable"], true);
  EXPECT_EQ(pair["why"], "");
  EXPECT_TRUE(json["meaning"].get<std::string>().find("small deviation") != std::string::npos);
}

TEST(EvaluationJson, WritesNullForWhatIsNoNumber) {
  Evaluation evaluation = MadeUpEvaluation();
  evaluation.policies[0].estimate.terms[0].dr = {NAN, -INFINITY, INFINITY};
  evaluation.policies[1].estimate.terms.clear();  // nothing was estimated
  evaluation.policies[1].model_terms.clear();
  evaluation.paired[0].diff = {NAN, NAN, NAN};
  const Json json = Json::parse(EvaluationJson(evaluation));
  EXPECT_TRUE(json["policies"][0]["total"].is_null());
  EXPECT_TRUE(json["policies"][0]["ci95"][0].is_null());
  EXPECT_TRUE(json["policies"][0]["ci95"][1].is_null());
  EXPECT_TRUE(json["policies"][1]["total"].is_null());
  EXPECT_TRUE(json["policies"][1]["terms"]["latency"].is_null());
  EXPECT_TRUE(json["policies"][1]["model"].is_null());
  EXPECT_EQ(json["policies"][1]["evaluable"], false);
  EXPECT_TRUE(json["paired"][0]["diff"].is_null());
  EXPECT_TRUE(json["policies"][0]["profile"]["by_kind"][1]["mean"].is_null()) << "no rows, no mean";
}

TEST(EvaluationJson, SaysWhetherTheModelReadsTheAction) {
  Evaluation evaluation = MadeUpEvaluation();
  EXPECT_EQ(ToJson(evaluation)["model"]["reads_action"], true);
  for (const char* blind : {"replay", "nearest-state"}) {
    evaluation.dynamics = blind;
    const Json json = ToJson(evaluation);
    EXPECT_EQ(json["model"]["reads_action"], false);
    EXPECT_TRUE(json["model"]["caveat"].get<std::string>().find("cannot reflect the action") !=
                std::string::npos);
  }
}

TEST(EvaluationJson, TakesCommandsOfAnyBytes) {
  Evaluation evaluation = MadeUpEvaluation();
  evaluation.policies[0].profile.by_command[0].kind = "bad\xff\"name";
  const Json json = Json::parse(EvaluationJson(evaluation));
  EXPECT_EQ(json["policies"][0]["profile"]["by_command"][0]["kind"], "bad\uFFFD\"name");
}

TEST(CertificateJson, HasTheKeysOtherToolsRead) {
  const Json json = Json::parse(JsonText(ToJson(MadeUpCertificate())));
  EXPECT_EQ(json["verdict"], "acts");
  EXPECT_DOUBLE_EQ(json["outcomes"]["wait"]["effect"], 1.625);
  EXPECT_DOUBLE_EQ(json["outcomes"]["wait"]["data_effect"], 1.75);
  EXPECT_TRUE(json["outcomes"]["wait"].contains("null95"));
  EXPECT_EQ(json["placebo"]["ok"], true);
  EXPECT_TRUE(json["groups"][0]["data_ci95"][0].is_null());
}

}  // namespace
}  // namespace kernelx
