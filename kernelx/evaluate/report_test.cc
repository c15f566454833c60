// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/report.h"

#include <gtest/gtest.h>

#include <string>

#include "kernelx/evaluate/json.h"
#include "kernelx/evaluate/report_assets.h"
#include "kernelx/evaluate/report_html.h"
#include "kernelx/evaluate/report_words.h"
#include "kernelx/evaluate/test_evaluation.h"
#include "kernelx/ground/file.h"

namespace kernelx {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDataScript = "<script type=\"application/json\" id=\"kx-data\">";

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string Page(const Evaluation& evaluation) {
  const Certificate certificate = MadeUpCertificate();
  return ReportHtml({.title = "A <title>",
                     .config_json = R"({"seed":7,"note":"</pre><script>x"})",
                     .certificate = &certificate,
                     .evaluation = &evaluation,
                     .training = {{.update = 1, .reward = 2.5, .validation = NAN}},
                     .shown = {"beats <none>"},
                     .not_shown = {"beats \"all\" & everything"},
                     .command = "kernelx evaluate --policy 'a<b'"});
}

/// What a reader without JavaScript sees.
std::string Readable(const std::string& page) { return page.substr(0, page.find(kDataScript)); }

TEST(Report, EscapesAllThatComesFromOutside) {
  Evaluation evaluation = MadeUpEvaluation({"mine\"><img src=x>", "none"});
  const std::string page = Page(evaluation);
  const std::string readable = Readable(page);
  EXPECT_FALSE(Has(readable, "<script"));
  EXPECT_FALSE(Has(readable, "<img"));
  EXPECT_TRUE(Has(readable, "&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_TRUE(Has(readable, "A &lt;title&gt;"));
  EXPECT_TRUE(Has(readable, "beats &lt;none&gt;"));
  EXPECT_TRUE(Has(readable, "beats &quot;all&quot; &amp; everything"));
  EXPECT_TRUE(Has(readable, "a&lt;b"));
  EXPECT_EQ(EscapeHtml("<a href='x'>&\x01"), "&lt;a href=&#39;x&#39;&gt;&amp;?");
}

TEST(Report, DataCannotLeaveItsScript) {
  const std::string page = Page(MadeUpEvaluation());
  const size_t begin = page.find(kDataScript) + kDataScript.size();
  const std::string data = page.substr(begin, page.find("</script>", begin) - begin);
  EXPECT_FALSE(Has(data, "<"));
  const Json json = Json::parse(data);
  EXPECT_EQ(json["evaluation"]["policies"][0]["profile"]["by_command"][0]["kind"],
            "<script>alert(1)</script>");
  EXPECT_EQ(json["certificate"]["groups"][0]["comm"], "a<b>\uFFFD");
  EXPECT_TRUE(json["training"][0]["validation"].is_null());
}

TEST(Report, ShowsAllFiguresOfTheJsonAsText) {
  const Evaluation evaluation = MadeUpEvaluation();
  const std::string readable = Readable(Page(evaluation));
  const Json json = ToJson(evaluation);
  const auto cell = [](const std::string& text) { return "<span>" + text + "</span>"; };
  for (const Json& policy : json["policies"]) {
    EXPECT_TRUE(Has(readable, "<th scope=\"row\">" + policy["name"].get<std::string>() + "</th>"));
    EXPECT_TRUE(Has(readable, cell(Figure(policy["total"]))));
    EXPECT_TRUE(Has(readable, cell(Figure(policy["model"]["total"]))));
    for (const Json& term : policy["terms"]) EXPECT_TRUE(Has(readable, cell(Figure(term))));
  }
  for (const Json& pair : json["paired"]) {
    EXPECT_TRUE(Has(readable, cell(SignedFigure(pair["diff"])))) << pair;
    EXPECT_TRUE(Has(readable,
                    cell(SignedIntervalFigure({pair["diff"], pair["ci95"][0], pair["ci95"][1]}))));
  }
  EXPECT_TRUE(Has(readable, cell("+1.625"))) << "certificate";
  EXPECT_TRUE(Has(readable, cell("2.500"))) << "training";
}

TEST(Report, NeedsNoNetwork) {
  const std::string page = Page(MadeUpEvaluation());
  EXPECT_FALSE(Has(page, " src="));
  EXPECT_FALSE(Has(page, "<link"));
  EXPECT_FALSE(Has(page, "@import"));
  EXPECT_FALSE(Has(page, "href=\"http"));
  EXPECT_TRUE(Has(page, "default-src 'none'"));
}

TEST(Report, CarriesItsAssetsUnchanged) {
  const std::string folder = KERNELX_DATA_DIR "/../kernelx/evaluate/assets/";
  EXPECT_EQ(kReportCss, ReadFile(folder + "report.css"));
  EXPECT_EQ(kReportJs, ReadFile(folder + "report.js"));
  EXPECT_EQ(kChartJs, ReadFile(folder + "chart.umd.min.js"));
  for (const std::string_view script : {kReportJs, kChartJs}) EXPECT_FALSE(Has(script, "</script"));
}

TEST(Report, LeavesOutWhatItWasNotGiven) {
  const std::string page = ReportHtml({.title = "t", .config_json = "not json", .command = ""});
  EXPECT_FALSE(Has(page, "id=\"verdicts\""));
  EXPECT_FALSE(Has(page, "id=\"training\""));
  EXPECT_FALSE(Has(page, "id=\"certificate\""));
  EXPECT_FALSE(Has(page, "What was shown"));
  EXPECT_TRUE(Has(page, "not json"));
}

TEST(Report, SaysThatReplayCannotReflectTheAction) {
  Evaluation evaluation = MadeUpEvaluation();
  evaluation.dynamics = "replay";
  EXPECT_TRUE(Has(Readable(Page(evaluation)), "Its score cannot reflect the action"));
}

}  // namespace
}  // namespace kernelx
