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

using Policies = std::vector<const PolicyScore*>;
using Kinds = std::vector<KindAction> ActionProfile::*;

std::vector<std::string> Headers(const char* first, const char* second, const Policies& policies) {
  std::vector<std::string> headers{first, second};
  for (const PolicyScore* policy : policies) headers.push_back(policy->estimate.name);
  return headers;
}

std::string MeanAndSpread(const KindAction& kind) {
  if (kind.rows == 0) return "-";
  return fmt::format("{} \u00b1 {}", SignedFigure(kind.mean), Figure(kind.sd));
}

std::string KindTable(const char* caption, const char* what, const Policies& policies,
                      Kinds kinds) {
  std::vector<std::vector<HtmlCell>> rows;
  const auto& first = policies.front()->profile.*kinds;
  for (size_t k = 0; k < first.size(); ++k) {
    std::vector<HtmlCell> row{first[k].kind, CountFigure(first[k].rows)};
    for (const PolicyScore* policy : policies) {
      row.emplace_back(MeanAndSpread((policy->profile.*kinds)[k]));
    }
    rows.push_back(std::move(row));
  }
  return HtmlTable(caption, Headers(what, "rows", policies), rows);
}

std::string FeatureTable(const Policies& policies) {
  std::vector<std::vector<HtmlCell>> rows;
  const auto& curves = policies.front()->profile.by_feature;
  for (size_t f = 0; f < curves.size(); ++f) {
    for (size_t bin = 0; bin < curves[f].at.size(); ++bin) {
      std::vector<HtmlCell> row{curves[f].feature, Figure(curves[f].at[bin])};
      for (const PolicyScore* policy : policies) {
        row.emplace_back(SignedFigure(policy->profile.by_feature[f].mean[bin]));
      }
      rows.push_back(std::move(row));
    }
  }
  return HtmlTable(
      "Mean action in bins of equally many rows, by feature (times as ln(1 + \u00b5s))",
      Headers("feature", "mean of the bin", policies), rows);
}

std::string HistogramTable(const Policies& policies) {
  std::vector<std::vector<HtmlCell>> rows;
  const size_t bins = policies.front()->profile.histogram.size();
  for (size_t bin = 0; bin < bins; ++bin) {
    const double width = 2.0 / static_cast<double>(bins);
    const double low = -1.0 + width * static_cast<double>(bin);
    std::vector<HtmlCell> row{
        fmt::format("{} .. {}", SignedFigure(low), SignedFigure(low + width))};
    for (const PolicyScore* policy : policies) {
      row.emplace_back(CountFigure(policy->profile.histogram[bin]));
    }
    rows.push_back(std::move(row));
  }
  std::vector<std::string> headers = Headers("action", "", policies);
  headers.erase(headers.begin() + 1);
  return HtmlTable("Rows by action", headers, rows);
}

std::string ByKind(const Policies& policies) {
  if (policies.front()->profile.by_kind.empty()) return "";
  return "<h3>By kind of task</h3>\n" +
         Plot("kinds", "by_kind", "Mean action by kind of task; figures in the table below",
              "Kinds are told by features the policy sees. Bars: one standard deviation.") +
         Figures("Figures: action by kind of task",
                 KindTable("Mean action \u00b1 standard deviation by kind of task", "kind of task",
                           policies, &ActionProfile::by_kind));
}

std::string ByFeature(const Policies& policies) {
  const auto& curves = policies.front()->profile.by_feature;
  if (curves.empty()) return "";
  std::string out = "<h3>By what tells tasks apart</h3>\n<div class=\"multiples\">\n";
  for (const FeatureCurve& curve : curves) {
    out += Plot("feature", curve.feature,
                fmt::format("Mean action by {}; figures in the table below", curve.feature), "");
  }
  return out + "</div>\n" + Figures("Figures: action by feature", FeatureTable(policies));
}

std::string ByCommand(const Policies& policies) {
  if (policies.front()->profile.by_command.empty()) return "";
  return "<h3>By command</h3>\n" +
         Paragraph("Names are for judging only: no policy sees them.", "faint") +
         Plot("kinds", "by_command", "Mean action by command; figures in the table below",
              "The twelve commands with most rows. Bars: one standard deviation.") +
         Figures("Figures: action by command",
                 KindTable("Mean action \u00b1 standard deviation by command", "command", policies,
                           &ActionProfile::by_command));
}

std::string Histograms(const Policies& policies) {
  std::string out = "<h3>How often each action</h3>\n<div class=\"multiples\">\n";
  for (const PolicyScore* policy : policies) {
    out += Plot("histogram", policy->estimate.name,
                fmt::format("Share of rows by action of {}; figures in the table below",
                            policy->estimate.name),
                "");
  }
  return out + "</div>\n" +
         Paragraph("Share of rows on a logarithmic axis, so that rare actions can be seen.",
                   "faint") +
         Figures("Figures: rows by action", HistogramTable(policies));
}

}  // namespace

Section BehaviourSection(const Evaluation& evaluation) {
  Section section{.id = "behaviour", .title = "What it does", .html = {}};
  const Policies policies = Shaped(evaluation);
  if (policies.empty()) return section;
  section.html =
      Paragraph(fmt::format(
          "The action each policy would take in the recorded states, as deployed (the median of "
          "its "
          "law): -1 boosts the task, +1 demotes it. Left out, since they do the same whatever the "
          "task: none (0), random (anything) and best-constant ({}, {}).",
          SignedFigure(evaluation.best_constant), BestConstantOrigin(evaluation))) +
      ByKind(policies) + ByFeature(policies) + ByCommand(policies) + Histograms(policies);
  return section;
}

}  // namespace kernelx
