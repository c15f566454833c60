// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/report.h"

#include <fmt/format.h>

#include <cmath>

#include "kernelx/evaluate/json.h"
#include "kernelx/evaluate/report_assets.h"
#include "kernelx/evaluate/report_html.h"
#include "kernelx/evaluate/report_sections.h"
#include "kernelx/evaluate/report_words.h"

namespace kernelx {
namespace {

using Json = nlohmann::ordered_json;

Json TrainingJson(const std::vector<TrainingPoint>& training) {
  const auto number = [](double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  Json out = Json::array();
  for (const TrainingPoint& p : training) {
    out.push_back({{"update", p.update},
                   {"reward", number(p.reward)},
                   {"reward_std", number(p.reward_std)},
                   {"kl", number(p.kl)},
                   {"entropy", number(p.entropy)},
                   {"clip_fraction", number(p.clip_fraction)},
                   {"grad_norm", number(p.grad_norm)},
                   {"learning_rate", number(p.learning_rate)},
                   {"validation", number(p.validation)}});
  }
  return out;
}

Json Names(const std::vector<const PolicyScore*>& policies) {
  Json names = Json::array();
  for (const PolicyScore* policy : policies) names.push_back(policy->estimate.name);
  return names;
}

/// What report.js draws from.
Json PlotData(const ReportInputs& inputs) {
  Json data{{"evaluation", nullptr},
            {"certificate", nullptr},
            {"subjects", Json::array()},
            {"shaped", Json::array()}};
  if (inputs.evaluation != nullptr) {
    data["evaluation"] = ToJson(*inputs.evaluation);
    data["subjects"] = Names(Subjects(*inputs.evaluation));
    data["shaped"] = Names(Shaped(*inputs.evaluation));
  }
  if (inputs.certificate != nullptr) data["certificate"] = ToJson(*inputs.certificate);
  data["training"] = TrainingJson(inputs.training);
  return data;
}

std::string ClaimList(const char* css, const char* heading,
                      const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string out = fmt::format("<div class=\"claims {}\"><h2>{}</h2><ul>\n", css, heading);
  for (const std::string& sentence : sentences) {
    out += fmt::format("<li>{}</li>\n", EscapeHtml(sentence));
  }
  return out + "</ul></div>\n";
}

std::vector<Section> Sections(const ReportInputs& inputs) {
  std::vector<Section> sections;
  if (inputs.evaluation != nullptr) {
    sections.push_back(VerdictSection(*inputs.evaluation));
    sections.push_back(SensitivitySection(*inputs.evaluation));
    sections.push_back(TermSection(*inputs.evaluation));
    sections.push_back(BehaviourSection(*inputs.evaluation));
  }
  if (inputs.certificate != nullptr) sections.push_back(CertificateSection(*inputs.certificate));
  sections.push_back(TrainingSection(inputs.training));
  sections.push_back(ProvenanceSection(inputs));
  std::erase_if(sections, [](const Section& section) { return section.html.empty(); });
  return sections;
}

std::string Subtitle(const ReportInputs& inputs) {
  if (inputs.evaluation == nullptr) return "";
  const Evaluation& e = *inputs.evaluation;
  return Paragraph(fmt::format("{} \u00b7 reward {} \u00b7 {} event{} a decision", e.data, e.reward,
                               e.hold, e.hold == 1 ? "" : "s"),
                   "subtitle");
}

std::string Head(const ReportInputs& inputs) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n",
      EscapeHtml(inputs.title), kReportCss);
}

}  // namespace

std::string ReportHtml(const ReportInputs& inputs) {
  const std::vector<Section> sections = Sections(inputs);
  std::string html = Head(inputs);
  html += "<body>\n<a class=\"skip\" href=\"#main\">Skip to the figures</a>\n<header>\n";
  html += fmt::format("<p class=\"brand\">kernelx</p>\n<h1>{}</h1>\n{}</header>\n",
                      EscapeHtml(inputs.title), Subtitle(inputs));
  html += "<nav aria-label=\"Sections\"><ul>\n";
  for (const Section& section : sections) {
    html += fmt::format("<li><a href=\"#{0}\">{0}</a></li>\n", section.id);
  }
  html += "</ul></nav>\n<main id=\"main\">\n";
  const std::string claims = ClaimList("shown", "What was shown", inputs.shown) +
                             ClaimList("open", "What was not", inputs.not_shown);
  if (!claims.empty()) {
    html += "<section class=\"summary\" aria-label=\"Summary\">\n" + claims + "</section>\n";
  }
  html +=
      "<noscript><p class=\"callout\">Plots need JavaScript; every figure in them also stands "
      "in the tables.</p></noscript>\n";
  for (const Section& section : sections) {
    html += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">"
        "{1}</h2>\n{2}</section>\n",
        section.id, EscapeHtml(section.title), section.html);
  }
  html +=
      "</main>\n<footer><p>One file, no network. Plots by Chart.js (MIT licence).</p></footer>\n";
  html += "<script type=\"application/json\" id=\"kx-data\">" +
          EscapeScript(JsonText(PlotData(inputs))) + "</script>\n";
  html += fmt::format("<script>{}</script>\n<script>\n{}</script>\n</body>\n</html>\n", kChartJs,
                      kReportJs);
  return html;
}

}  // namespace kernelx
