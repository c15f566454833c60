// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernelx/evaluate/report_html.h"
#include "kernelx/evaluate/report_sections.h"
#include "kernelx/evaluate/report_words.h"

namespace kernelx {
namespace {

std::string OutcomeTable(const Certificate& certificate) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const Effect& e : certificate.outcomes) {
    rows.push_back(
        {e.name, SignedFigure(e.effect), Figure(e.null95), Figure(e.p), SignedFigure(e.data_effect),
         SignedIntervalFigure({e.data_effect, e.data_low, e.data_high}), Figure(e.data_p)});
  }
  const Effect& placebo = certificate.placebo;
  rows.push_back({"wait before (placebo)", "-", Figure(placebo.null95), "-",
                  SignedFigure(placebo.data_effect),
                  SignedIntervalFigure({placebo.data_effect, placebo.data_low, placebo.data_high}),
                  Figure(placebo.data_p)});
  return HtmlTable(
      "Change of ln(1 + \u00b5s) per unit of action",
      {"outcome", "in the dynamics", "null, 95 %", "p", "in the recording", "95 % interval", "p"},
      rows);
}

std::string GroupTable(const Certificate& certificate) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const GroupEffect& g : certificate.groups) {
    rows.push_back({g.comm, CountFigure(g.rows), SignedFigure(g.effect),
                    SignedFigure(g.data_effect),
                    SignedIntervalFigure({g.data_effect, g.data_low, g.data_high})});
  }
  return HtmlTable("Effect on the next wait by command",
                   {"command", "rows", "in the dynamics", "in the recording", "95 % interval"},
                   rows);
}

std::string PrettyJson(const std::string& text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return text;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string Preformatted(std::string_view title, std::string_view text) {
  return fmt::format("<h3>{0}</h3>\n<pre tabindex=\"0\" aria-label=\"{0}\">{1}</pre>\n", title,
                     EscapeHtml(text));
}

}  // namespace

Section CertificateSection(const Certificate& certificate) {
  Section section{.id = "certificate", .title = "Does the action do anything here?", .html = {}};
  const bool acts = certificate.verdict == CertificateVerdict::kActs;
  section.html =
      fmt::format("<p><span class=\"badge {}\">{}</span> {}</p>\n", acts ? "better" : "worse",
                  EscapeHtml(VerdictName(certificate.verdict)), EscapeHtml(certificate.why));
  section.html += Paragraph(
      fmt::format("{} randomised rows of {} tasks; propensities {}. Above zero: demoting a task "
                  "makes it longer. The placebo is the wait before the action, which no action can "
                  "reach: {}.",
                  CountFigure(certificate.rows), CountFigure(certificate.tasks),
                  certificate.propensities_known ? "known" : "not recorded",
                  certificate.outcomes.empty() ? "not tested"
                  : certificate.placebo_ok     ? "null, as it must be"
                                               : "not null, so something else moves the outcome"));
  if (certificate.outcomes.empty()) return section;
  section.html +=
      Plot("effects", "", "Effect of the action by outcome; figures in the table below",
           "Change of ln(1 + \u00b5s) per unit of action. Grey: what chance alone gives "
           "in 95 % of permutations of the logged actions.");
  if (!certificate.groups.empty()) {
    section.html +=
        Plot("groups", "", "Effect on the wait by command; figures in the table below",
             "Effect on the next wait by command. A dot without a bar: a single task, so no "
             "interval. Names are for judging only.");
  }
  section.html += Figures(
      "Figures: the certificate",
      OutcomeTable(certificate) + (certificate.groups.empty() ? "" : GroupTable(certificate)));
  return section;
}

Section TrainingSection(const std::vector<TrainingPoint>& training) {
  Section section{.id = "training", .title = "How it learnt", .html = {}};
  if (training.empty()) return section;
  section.html = Paragraph(
      "Reward and gain here are what the training dynamics paid. That they rise shows that the "
      "optimiser works, not that the policy helps: the judge above says that.");
  section.html += "<div class=\"pair\">\n";
  section.html += Plot("learning", "reward", "Reward in training; figures in the table below",
                       "Band: one standard deviation within a group of clones.");
  const auto measured = [](const TrainingPoint& p) { return std::isfinite(p.validation); };
  if (std::ranges::any_of(training, measured)) {
    section.html += Plot("learning", "validation",
                         "Gain over doing nothing at held-out states; figures in the table below",
                         "The median action's gain, at states kept out of training.");
  }
  section.html += "</div>\n";
  section.html += "<div class=\"multiples\">\n";
  for (const auto& [key, name] :
       {std::pair{"kl", "KL to the reference"}, std::pair{"entropy", "entropy"},
        std::pair{"clip_fraction", "clipped share"}, std::pair{"grad_norm", "gradient norm"},
        std::pair{"learning_rate", "learning rate"}}) {
    section.html += Plot("trace", key, fmt::format("{} by update", name), "");
  }
  section.html += "</div>\n";
  std::vector<std::vector<HtmlCell>> rows;
  for (const TrainingPoint& p : training) {
    rows.push_back({std::to_string(p.update), Figure(p.reward), Figure(p.reward_std),
                    Figure(p.validation), Figure(p.kl), Figure(p.entropy), Figure(p.clip_fraction),
                    Figure(p.grad_norm), fmt::format("{:.3g}", p.learning_rate)});
  }
  section.html += Figures("Figures: training",
                          HtmlTable("By update",
                                    {"update", "reward", "sd", "gain held out", "KL", "entropy",
                                     "clipped share", "gradient norm", "learning rate"},
                                    rows));
  return section;
}

Section ProvenanceSection(const ReportInputs& inputs) {
  Section section{.id = "provenance", .title = "How to get this again", .html = {}};
  std::vector<std::vector<HtmlCell>> facts;
  if (inputs.evaluation != nullptr) {
    const Evaluation& e = *inputs.evaluation;
    facts = {
        {"recording", HtmlCell(e.data, "text")},
        {"reward", HtmlCell(e.reward, "text")},
        {"events a decision", HtmlCell(std::to_string(e.hold), "text")},
        {"dynamics asked for its opinion", HtmlCell(e.dynamics, "text")},
        {"draws judged", HtmlCell(CountFigure(e.rows), "text")},
        {"tasks", HtmlCell(CountFigure(e.tasks), "text")},
        {"left out: draws for whole groups", HtmlCell(CountFigure(e.group_draws), "text")},
        {"left out: cut short by the recording's end", HtmlCell(CountFigure(e.short_ones), "text")},
        {"action of best-constant",
         HtmlCell(SignedFigure(e.best_constant) + ", " + BestConstantOrigin(e), "text")}};
    section.html += HtmlTable("What was judged", {"", ""}, facts);
  }
  if (!inputs.command.empty()) section.html += Preformatted("Command", inputs.command);
  if (!inputs.config_json.empty()) {
    section.html += Preformatted("Configuration", PrettyJson(inputs.config_json));
  }
  return section;
}

}  // namespace kernelx
