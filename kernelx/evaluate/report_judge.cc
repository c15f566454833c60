// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string>
#include <vector>

#include "kernelx/evaluate/report_html.h"
#include "kernelx/evaluate/report_sections.h"
#include "kernelx/evaluate/report_words.h"

namespace kernelx {
namespace {

constexpr std::string_view kForestCaption =
    "Dot and bar: estimate and 95 % interval. Right of the line the policy earns more than the "
    "baseline; a bar across the line shows nothing.";

/// The class that colours a verdict; the word stands beside it.
std::string_view VerdictCss(const PairedRow& row) {
  if (!row.evaluable) return "badge refused";
  if (row.verdict == "better") return "badge better";
  if (row.verdict == "worse") return "badge worse";
  return "badge unclear";
}

std::string Card(const PairedRow& row) {
  return fmt::format(
      "<li class=\"card\"><span class=\"versus\">against {}</span><strong>{}</strong>"
      "<span class=\"interval\">{}</span><span class=\"{}\">{}</span></li>\n",
      EscapeHtml(row.versus), row.evaluable ? SignedFigure(row.diff.value) : "\u2013",
      row.evaluable ? SignedIntervalFigure(row.diff) : "no figure", VerdictCss(row),
      EscapeHtml(row.verdict));
}

std::string Cards(const Evaluation& evaluation, const PolicyScore& policy) {
  const std::string& name = policy.estimate.name;
  std::string out = fmt::format("<h3>{}</h3>\n<ul class=\"cards\">\n", EscapeHtml(name));
  for (const std::string& baseline : Baselines(evaluation)) {
    const PairedRow* row = FindPair(evaluation.paired, name, baseline, "dr");
    if (row != nullptr) out += Card(*row);
  }
  return out + "</ul>\n";
}

std::vector<HtmlCell> PairCells(const PairedRow& row) {
  const bool model = row.estimator == "model";
  return {row.policy,
          row.versus,
          row.estimator,
          row.evaluable ? SignedFigure(row.diff.value) : "-",
          row.evaluable ? SignedIntervalFigure(row.diff) : "-",
          model ? "-" : CountFigure(static_cast<size_t>(row.ess)),
          model ? HtmlCell("opinion", "badge opinion") : HtmlCell(row.verdict, VerdictCss(row))};
}

std::string PairTable(const Evaluation& evaluation, bool model) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const PairedRow& row : evaluation.paired) {
    if ((row.estimator == "model") == model) rows.push_back(PairCells(row));
  }
  return HtmlTable(model ? "Paired differences in the dynamics: its opinion"
                         : "Paired differences of the total by logged outcomes",
                   {"policy", "against", "by", "difference", "95 % interval",
                    "effective sample size", "verdict"},
                   rows);
}

std::string Refusal(const Evaluation& evaluation) {
  return "<div class=\"callout\" role=\"note\"><strong>Not evaluable.</strong> Logged outcomes "
         "cannot judge these policies." +
         Paragraph(evaluation.not_evaluable) + "</div>\n";
}

std::string Opinion(const Evaluation& evaluation) {
  std::string out = fmt::format(
      "<aside class=\"opinion\"><h3>The model's own opinion <span class=\"badge "
      "opinion\">not evidence</span></h3>\n{}",
      Paragraph(ModelCaveat(evaluation)));
  if (evaluation.policies.empty() || evaluation.policies.front().model_terms.empty()) {
    return out + Paragraph("It was not asked: there is no judge to set it beside.") + "</aside>\n";
  }
  out += Plot("opinion", "", "Paired differences by the dynamics; figures in the table below", "");
  std::vector<std::vector<HtmlCell>> rows;
  for (const PolicyScore& policy : evaluation.policies) {
    std::vector<HtmlCell> row{policy.estimate.name};
    for (const double value : policy.model_terms) row.emplace_back(Figure(value));
    rows.push_back(std::move(row));
  }
  std::vector<std::string> headers{"policy"};
  for (const std::string& term : evaluation.term_names) headers.push_back(term);
  return out +
         Figures("Figures: what the model says",
                 PairTable(evaluation, true) +
                     HtmlTable("Reward by policy in the dynamics: its opinion", headers, rows)) +
         "</aside>\n";
}

/// Sign and star as in the terminal's table.
HtmlCell Otherwise(const PairedRow* row) {
  if (row == nullptr || !row->evaluable) return {"not evaluable", "faint"};
  const bool clear = row->diff.lo > 0.0 || row->diff.hi < 0.0;
  return {fmt::format("{} ({})", SignedFigure(row->diff.value), SignedIntervalFigure(row->diff)),
          clear ? (row->diff.lo > 0.0 ? "up" : "down") : "faint"};
}

std::string BandwidthTable(const Evaluation& evaluation) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const PolicyScore& policy : evaluation.policies) {
    for (const BandwidthEstimate& at : policy.estimate.bandwidths) {
      rows.push_back({policy.estimate.name, Figure(at.bandwidth),
                      CountFigure(static_cast<size_t>(at.ess)), Figure(at.dr.value),
                      IntervalFigure(at.dr), Figure(at.snips.value), IntervalFigure(at.snips)});
    }
  }
  if (rows.empty()) return "";
  return Paragraph(
             "A policy that always plays one point is judged by draws near that point. The total "
             "should not hang on how near is near:") +
         HtmlTable("Total by bandwidth",
                   {"policy", "half-width", "effective sample size", "dr", "95 % interval", "snips",
                    "95 % interval"},
                   rows);
}

std::string WeightTable(const Evaluation& evaluation) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const PolicyScore& policy : evaluation.policies) {
    const WeightDiagnostics& w = policy.estimate.weights;
    rows.push_back({policy.estimate.name, CountFigure(static_cast<size_t>(w.ess)),
                    CountFigure(static_cast<size_t>(w.cluster_ess)), Figure(w.mean.value),
                    IntervalFigure(w.mean), Figure(w.max), Figure(w.largest_cluster_share),
                    Figure(w.clipped_mass)});
  }
  return HtmlTable("Can the log say anything about the policy? Importance weights",
                   {"policy", "effective sample size", "effective tasks", "mean weight (1 ideal)",
                    "95 % interval", "largest", "share of one task", "clipped"},
                   rows);
}

std::string FitTable(const Evaluation& evaluation) {
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t t = 0; t < evaluation.outcome_r_squared.size(); ++t) {
    rows.push_back({evaluation.term_names[t], Figure(evaluation.outcome_r_squared[t])});
  }
  return HtmlTable("Variance the outcome model inside dr explains on held-out tasks",
                   {"term", "share explained"}, rows);
}

}  // namespace

Section VerdictSection(const Evaluation& evaluation) {
  Section section{.id = "verdicts", .title = "Is it better?", .html = {}};
  const bool refused = !evaluation.not_evaluable.empty();
  if (refused) {
    section.html += Refusal(evaluation);
  } else {
    section.html += Paragraph(fmt::format(
        "Differences of the mean reward per decision, on the same {} randomly drawn actions of {} "
        "tasks. The judge is what really followed each draw; 95 % intervals resample whole tasks.",
        CountFigure(evaluation.rows), CountFigure(evaluation.tasks)));
  }
  const std::vector<const PolicyScore*> subjects = Subjects(evaluation);
  for (const PolicyScore* policy : subjects) {
    section.html += Cards(evaluation, *policy);
    if (refused) continue;
    section.html +=
        Plot("forest", policy->estimate.name,
             fmt::format("Paired differences of {} with 95 % intervals; figures in the table below",
                         policy->estimate.name),
             policy == subjects.front() ? kForestCaption : std::string_view());
  }
  for (const std::string& why : Reasons(evaluation.paired)) {
    if (!refused) section.html += Paragraph(why, "faint");
  }
  section.html += Figures("Figures: paired differences", PairTable(evaluation, false));
  section.html += Opinion(evaluation);
  section.html += Paragraph(Meaning(), "meaning");
  return section;
}

Section TermSection(const Evaluation& evaluation) {
  Section section{.id = "terms", .title = "What the reward is made of", .html = {}};
  if (!evaluation.not_evaluable.empty()) return section;
  section.html = Paragraph(fmt::format(
      "The terms of the `{}` reward, doubly robust, each as its difference from `none`: what a "
      "policy gains in one it may pay for in another.",
      evaluation.reward));
  section.html += Plot("terms", "", "Reward terms by policy; figures in the table below",
                       "Bars: terms. Diamond: their sum, the total.");
  std::vector<std::string> headers{"policy"};
  for (const std::string& term : evaluation.term_names) {
    headers.push_back(term);
    headers.emplace_back("95 % interval");
  }
  std::vector<std::vector<HtmlCell>> rows;
  for (const PolicyScore& policy : evaluation.policies) {
    std::vector<HtmlCell> row{policy.estimate.name};
    for (const TermEstimate& term : policy.estimate.terms) {
      row.emplace_back(Figure(term.dr.value));
      row.emplace_back(IntervalFigure(term.dr), "faint");
    }
    rows.push_back(std::move(row));
  }
  section.html += Figures("Figures: reward by policy",
                          HtmlTable("Mean reward per decision, by logged outcomes", headers, rows) +
                              Paragraph("Tasks differ, so each total has a wide interval; compare "
                                        "policies by the paired differences above.",
                                        "faint"));
  return section;
}

Section SensitivitySection(const Evaluation& evaluation) {
  Section section{.id = "sensitivity", .title = "Does it hold up?", .html = {}};
  if (!evaluation.not_evaluable.empty()) return section;
  section.html = Paragraph(
      "The same differences, judged in other ways: by weights alone (snips), on draws that were in "
      "force at the task's next event, and on the last fifth of the draws. A claim worth making "
      "keeps its sign.");
  for (const PolicyScore* policy : Subjects(evaluation)) {
    std::vector<std::vector<HtmlCell>> rows;
    const std::string& name = policy->estimate.name;
    for (const std::string& baseline : Baselines(evaluation)) {
      const PairedRow* row = FindPair(evaluation.paired, name, baseline, "dr");
      if (row == nullptr) continue;
      rows.push_back({baseline, Otherwise(row),
                      Otherwise(FindPair(evaluation.paired, name, baseline, "snips")),
                      Otherwise(FindPair(evaluation.paired_in_force, name, baseline, "dr")),
                      Otherwise(FindPair(evaluation.paired_late, name, baseline, "dr"))});
    }
    section.html += HtmlTable(
        fmt::format("{}: difference and 95 % interval", name),
        {"against", "dr", "snips", "dr, draws in force", "dr, last fifth of the draws"}, rows);
  }
  section.html +=
      Figures("Figures: bandwidth, weights, fit",
              BandwidthTable(evaluation) + WeightTable(evaluation) + FitTable(evaluation));
  return section;
}

}  // namespace kernelx
