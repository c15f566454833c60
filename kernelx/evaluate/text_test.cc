// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "kernelx/evaluate/report_words.h"
#include "kernelx/evaluate/test_evaluation.h"
#include "kernelx/evaluate/text_table.h"

namespace kernelx {
namespace {

void ExpectFits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(TextColumns(line), 80U) << line;
  }
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Figures, ReadTheSameEverywhere) {
  EXPECT_EQ(Figure(3.0904), "3.090");
  EXPECT_EQ(Figure(-0.0004), "0.000");
  EXPECT_EQ(Figure(-1234.56), "-1234.6");
  EXPECT_EQ(Figure(NAN), "-");
  EXPECT_EQ(SignedFigure(0.068), "+0.068");
  EXPECT_EQ(SignedFigure(1e-9), "0.000");
  EXPECT_EQ(SignedIntervalFigure({0.5, -0.25, 1.0}), "-0.250 .. +1.000");
  EXPECT_EQ(IntervalFigure({0.5, -INFINITY, 1.0}), "-");
  EXPECT_EQ(CountFigure(7), "7");
  EXPECT_EQ(CountFigure(999), "999");
  EXPECT_EQ(CountFigure(20187), "20,187");
  EXPECT_EQ(CountFigure(1234567), "1,234,567");
}

TEST(Subjects, AreTheCandidates) {
  const auto names = [](const std::vector<std::string>& policies) {
    const Evaluation evaluation = MadeUpEvaluation(policies);
    std::string joined;
    for (const PolicyScore* subject : Subjects(evaluation)) joined += subject->estimate.name + " ";
    return joined;
  };
  EXPECT_EQ(names({"mine", "none", "random", "yours"}), "mine yours ");
  EXPECT_EQ(names({"interactive", "none", "random"}), "interactive ");
  EXPECT_EQ(names({"none", "random"}), "none random ");
}

TEST(TextTable, ContinuesBelowWhatDoesNotFit) {
  TextTable table({"name", std::string(40, 'a'), std::string(40, 'b')}, "");
  table.Add({"x", "1", "2"});
  EXPECT_EQ(table.Render(), "name  " + std::string(40, 'a') + "\nx     " + std::string(39, ' ') +
                                "1\n\nname  " + std::string(40, 'b') + "\nx     " +
                                std::string(39, ' ') + "2\n");
}

TEST(Words, AreCutAndWrappedByColumns) {
  EXPECT_EQ(Shorten("short", 10), "short");
  EXPECT_EQ(Shorten("runs/a/policy.safetensors", 12), "\u2026safetensors");
  EXPECT_EQ(Shorten("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 3), "\u2026\u00f6\u00fc");
  EXPECT_EQ(Shorten("a\x1b[31mb\n", 10), "a?[31mb?") << "no control codes reach the terminal";
  EXPECT_EQ(Wrap("one two", "  "), "  one two\n");
  EXPECT_EQ(Wrap("", "  "), "");
  ExpectFits(Wrap(std::string(300, 'x') + " " + std::string(79, 'y') + " z", "    "));
}

TEST(EvaluationText, ShowsTotalsVerdictsAndTheModelApart) {
  const std::string text = EvaluationText(MadeUpEvaluation());
  ExpectFits(text);
  EXPECT_TRUE(Has(text, "20,187"));
  EXPECT_TRUE(Has(text, "mine       1.300  1.238 .. 1.425    1.550  1.800")) << text;
  EXPECT_TRUE(Has(text, "none         +1.310  +1.248 .. +1.435  better")) << text;
  EXPECT_TRUE(Has(text, "not evidence"));
  EXPECT_TRUE(Has(text, "  | mine")) << "the model's rows stand behind a rail";
  EXPECT_TRUE(Has(text, "wakes regularly or by timer"));
  EXPECT_FALSE(Has(text, "cannot reflect the action"));
}

TEST(EvaluationText, SaysThatReplayCannotReflectTheAction) {
  Evaluation evaluation = MadeUpEvaluation();
  evaluation.dynamics = "replay";
  EXPECT_TRUE(Has(EvaluationText(evaluation), "Its score cannot reflect the action"));
}

TEST(EvaluationText, FitsWhateverTheNamesAre) {
  Evaluation evaluation =
      MadeUpEvaluation({std::string(200, 'p'), "\u00fc/" + std::string(60, 'q'), "one", "two",
                        "three", "four", "none"},
                       {"total", "throughput", "a-very-long-name-of-a-term", "latency", "stability",
                        "format", "six", "seven", "eight"});
  evaluation.data = std::string(300, 'd');
  evaluation.dynamics = std::string(90, 'm');
  for (PolicyScore& policy : evaluation.policies) {
    policy.estimate.terms[0].dr = {-123456789.0, -1e12, 1e12};
    policy.profile.by_kind[0].kind = std::string(70, 'k');
  }
  ExpectFits(EvaluationText(evaluation));
}

TEST(EvaluationText, ShowsNoFigureWhereThereIsTooLittleToJudgeBy) {
  Evaluation evaluation = MadeUpEvaluation();
  PairedRow& row = evaluation.paired[0];
  row.evaluable = false;
  row.verdict = "not evaluable";
  row.why = "mine: effective sample size 12 is below 1000";
  const std::string text = EvaluationText(evaluation);
  EXPECT_FALSE(Has(text, "+1.310"));
  EXPECT_TRUE(Has(text, "effective sample size 12 is below 1000"));
}

}  // namespace
}  // namespace kernelx
