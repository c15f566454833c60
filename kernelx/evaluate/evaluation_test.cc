// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The beginning of real recordings, judged.
#include "kernelx/evaluate/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernelx/dataset/reader.h"
#include "kernelx/evaluate/json.h"
#include "kernelx/evaluate/report.h"
#include "kernelx/evaluate/report_words.h"
#include "kernelx/policy/registry.h"
#include "kernelx/preprocess/preprocess.h"

namespace kernelx {
namespace {

/// The first `most` rows of a bundled recording, with the extended features.
Dataset Beginning(const std::string& name, size_t most) {
  struct Enough {};
  std::vector<RawTransition> rows;
  try {
    ReadRawChunks(KERNELX_DATA_DIR "/" + name, {.threads = 1}, [&](std::span<RawTransition> chunk) {
      for (const RawTransition& row : chunk) {
        if (rows.size() == most) throw Enough{};
        rows.push_back(row);
      }
    });
  } catch (const Enough&) {
  }
  return ExtractFeatures(rows, FeatureSet::Extended(), name);
}

const Dataset& Interventional() {
  static const Dataset dataset = Beginning("interventional-b.jsonl.xz", 40000);
  return dataset;
}

Evaluation Judge(const Dataset& dataset, const std::string& dynamics, unsigned threads = 0) {
  EvaluationOptions options;
  options.dynamics = dynamics;
  options.threads = threads;
  std::vector<std::unique_ptr<Policy>> candidates;
  candidates.push_back(MakePolicy("constant:0.5"));
  return Evaluate(dataset, std::move(candidates), options);
}

/// One evaluation for the tests that only look at it.
const Evaluation& Judged() {
  static const Evaluation evaluation = Judge(Interventional(), "nearest", 1);
  return evaluation;
}

const PolicyScore& Named(const Evaluation& evaluation, const std::string& name) {
  for (const PolicyScore& policy : evaluation.policies) {
    if (policy.estimate.name == name) return policy;
  }
  throw std::runtime_error("no policy " + name);
}

TEST(Evaluate, WithoutDrawsNothingIsJudged) {
  const Dataset dataset = Beginning("observational.jsonl.xz", 8000);
  const Evaluation evaluation = Judge(dataset, "nearest");
  EXPECT_NE(evaluation.not_evaluable, "");
  EXPECT_FALSE(evaluation.paired.empty());
  for (const PairedRow& row : evaluation.paired) {
    if (row.estimator == "model") continue;
    EXPECT_FALSE(row.evaluable);
    EXPECT_EQ(row.verdict, "not evaluable");
    EXPECT_TRUE(std::isnan(row.diff.value)) << "a number out of nothing";
  }
  const auto json = nlohmann::ordered_json::parse(EvaluationJson(evaluation));
  EXPECT_TRUE(json["policies"][0]["total"].is_null());
  EXPECT_TRUE(json["paired"][0]["diff"].is_null());
  EXPECT_NE(EvaluationText(evaluation).find("NOT EVALUABLE"), std::string::npos);
  const std::string page =
      ReportHtml({.title = "t", .config_json = "", .evaluation = &evaluation, .command = ""});
  EXPECT_NE(page.find("Not evaluable."), std::string::npos);
  EXPECT_EQ(page.find("data-plot=\"forest\""), std::string::npos);
}

TEST(Evaluate, JudgesCandidatesAndBaselinesOnTheSameRows) {
  const Evaluation& evaluation = Judged();
  ASSERT_EQ(evaluation.not_evaluable, "");
  ASSERT_EQ(evaluation.policies.size(), 6U);
  EXPECT_EQ(evaluation.policies.front().estimate.name, "constant:0.5");
  EXPECT_GT(evaluation.rows, 1000U);
  const std::vector<std::string> baselines = Baselines(evaluation);
  for (const char* name : {"none", "random", "heuristic", "best-constant"}) {
    EXPECT_EQ(std::ranges::count(baselines, name), 1) << name;
    EXPECT_NE(FindPair(evaluation.paired, "constant:0.5", name, "dr"), nullptr) << name;
  }
  for (const char* estimator : {"dr", "snips", "model"}) {
    const PairedRow* there = FindPair(evaluation.paired, "none", "random", estimator);
    const PairedRow* back = FindPair(evaluation.paired, "random", "none", estimator);
    ASSERT_TRUE(there != nullptr && back != nullptr);
    EXPECT_NEAR(there->diff.value, -back->diff.value, 1e-9);
    EXPECT_NEAR(there->diff.lo, -back->diff.hi, 1e-9);
  }
  // The terms of a policy add up to its total.
  for (const PolicyScore& policy : evaluation.policies) {
    double sum = 0.0;
    for (size_t t = 1; t < policy.model_terms.size(); ++t) sum += policy.model_terms[t];
    EXPECT_NEAR(policy.model_terms[0], sum, 1e-9);
  }
}

TEST(Evaluate, ReplayGivesEveryPolicyTheSameOutcome) {
  const Evaluation evaluation = Judge(Interventional(), "replay");
  const auto& none = Named(evaluation, "none").model_terms;
  const auto& half = Named(evaluation, "constant:0.5").model_terms;
  EXPECT_EQ(evaluation.term_names[1], "latency");
  EXPECT_DOUBLE_EQ(none[1], half[1]);
  EXPECT_DOUBLE_EQ(none[2], half[2]);
  EXPECT_NE(none[3], half[3]) << "effort reads the action directly";
}

TEST(Evaluate, GivesTheSameBytesForAnyThreadCount) {
  const Evaluation two = Judge(Interventional(), "nearest", 2);
  EXPECT_EQ(EvaluationJson(Judged()), EvaluationJson(two));
}

}  // namespace
}  // namespace kernelx
