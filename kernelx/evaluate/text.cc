// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernelx/evaluate/evaluation.h"
#include "kernelx/evaluate/report_words.h"
#include "kernelx/evaluate/text_table.h"

namespace kernelx {
namespace {

constexpr size_t kNameColumns = 14;

std::string Head(const Evaluation& evaluation) {
  std::string out = fmt::format("Policies on {}\n", Shorten(evaluation.data, kTextWidth - 12));
  out += fmt::format("Reward {}, one decision for {} event{} of a task.\n", evaluation.reward,
                     evaluation.hold, evaluation.hold == 1 ? "" : "s");
  if (!evaluation.not_evaluable.empty()) {
    out += "\nNOT EVALUABLE: logged outcomes cannot judge these policies.\n";
    return out + Wrap(evaluation.not_evaluable, "  ");
  }
  std::string left_out;
  if (evaluation.group_draws + evaluation.short_ones > 0) {
    left_out =
        fmt::format(" Left out: {} draws for whole groups, {} cut short by the recording's end.",
                    CountFigure(evaluation.group_draws), CountFigure(evaluation.short_ones));
  }
  return out +
         Wrap(fmt::format("Judged by what really followed {} actions drawn by lot, on {} "
                          "tasks.{}",
                          CountFigure(evaluation.rows), CountFigure(evaluation.tasks), left_out),
              "");
}

std::string Term(const PolicyScore& policy, size_t term) {
  const auto& terms = policy.estimate.terms;
  return policy.estimate.evaluable && term < terms.size() ? Figure(terms[term].dr.value) : "-";
}

/// Every policy with its total and each term apart; a term that is the same for all is a line.
std::string Totals(const Evaluation& evaluation) {
  std::vector<std::string> headers{"policy", "total", "95 % interval"};
  std::vector<size_t> shown;
  std::string constant;
  for (size_t t = 1; t < evaluation.term_names.size(); ++t) {
    const std::string value = Term(evaluation.policies.front(), t);
    const bool same = std::ranges::all_of(
        evaluation.policies, [&](const PolicyScore& policy) { return Term(policy, t) == value; });
    if (same) {
      constant += fmt::format("  {} is {} for all\n", evaluation.term_names[t], value);
    } else {
      shown.push_back(t);
      headers.push_back(evaluation.term_names[t]);
    }
  }
  TextTable table(headers);
  for (const PolicyScore& policy : evaluation.policies) {
    std::vector<std::string> row{Shorten(policy.estimate.name, kNameColumns), Term(policy, 0)};
    row.push_back(policy.estimate.evaluable ? IntervalFigure(policy.estimate.terms[0].dr)
                                            : "not evaluable");
    for (const size_t t : shown) row.push_back(Term(policy, t));
    table.Add(std::move(row));
  }
  return "\nReward by policy, doubly robust (dr), mean per decision\n" + table.Render() + constant;
}

std::string Difference(const PairedRow* row) {
  return row != nullptr && row->evaluable ? SignedFigure(row->diff.value) : "-";
}

std::string Verdicts(const Evaluation& evaluation, const PolicyScore& policy) {
  const std::string& name = policy.estimate.name;
  TextTable table({"against", "difference", "95 % interval", "<verdict"}, "    ");
  for (const std::string& baseline : Baselines(evaluation)) {
    const PairedRow* row = FindPair(evaluation.paired, name, baseline, "dr");
    if (row == nullptr) continue;
    table.Add({baseline, Difference(row), row->evaluable ? SignedIntervalFigure(row->diff) : "-",
               row->verdict});
  }
  return "  " + Shorten(name, kTextWidth - 2) + "\n" + table.Render();
}

/// The difference, with a star when its interval is clear of zero.
std::string Starred(const PairedRow* row) {
  if (row == nullptr || !row->evaluable) return "n/e ";
  const bool clear = row->diff.lo > 0.0 || row->diff.hi < 0.0;
  return SignedFigure(row->diff.value) + (clear ? "*" : " ");
}

std::string OtherWays(const Evaluation& evaluation, const PolicyScore& policy) {
  const std::string& name = policy.estimate.name;
  TextTable table({"against", "dr ", "snips ", "dr, in force ", "dr, last fifth "}, "    ");
  for (const std::string& baseline : Baselines(evaluation)) {
    const PairedRow* row = FindPair(evaluation.paired, name, baseline, "dr");
    if (row == nullptr) continue;
    table.Add({baseline, Starred(row),
               Starred(FindPair(evaluation.paired, name, baseline, "snips")),
               Starred(FindPair(evaluation.paired_in_force, name, baseline, "dr")),
               Starred(FindPair(evaluation.paired_late, name, baseline, "dr"))});
  }
  return "  " + Shorten(name, kTextWidth - 2) + "\n" + table.Render();
}

std::string Comparison(const Evaluation& evaluation) {
  std::string out = "\nIs it better? Difference on the same tasks, by logged outcomes\n";
  for (const PolicyScore* policy : Subjects(evaluation)) out += Verdicts(evaluation, *policy);
  if (!evaluation.not_evaluable.empty()) return out;
  for (const std::string& why : Reasons(evaluation.paired)) out += Wrap(why, "    ");
  out += "\nDoes it hold up? The same difference, judged in other ways\n";
  for (const PolicyScore* policy : Subjects(evaluation)) out += OtherWays(evaluation, *policy);
  out += Wrap("* interval clear of zero; n/e: not evaluable, too little to judge by", "    ");
  return out;
}

/// Behind a rail, so that no one takes it for the judge's.
std::string Opinion(const Evaluation& evaluation) {
  const std::string rail = "  | ";
  std::string out = fmt::format("\n  +-- The model's own opinion ({}): not evidence --\n",
                                Shorten(evaluation.dynamics, 20));
  out += Wrap(ModelCaveat(evaluation), rail);
  if (evaluation.policies.empty() || evaluation.policies.front().model_terms.empty()) {
    return out + rail + "Not asked: there is no judge to set it beside.\n";
  }
  std::vector<std::string> headers{"policy", "total"};
  const std::vector<const PolicyScore*> subjects = Subjects(evaluation);
  for (const PolicyScore* subject : subjects) {
    headers.push_back(Shorten(subject->estimate.name, kNameColumns) + " less it");
  }
  TextTable table(headers, rail);
  for (const PolicyScore& policy : evaluation.policies) {
    const std::string& name = policy.estimate.name;
    std::vector<std::string> row{Shorten(name, kNameColumns), Figure(policy.model_terms[0])};
    for (const PolicyScore* subject : subjects) {
      const PairedRow* pair = FindPair(evaluation.paired, subject->estimate.name, name, "model");
      row.push_back(pair == nullptr ? "" : SignedFigure(pair->diff.value));
    }
    table.Add(std::move(row));
  }
  return out + table.Render();
}

std::string ActionsByKind(const Evaluation& evaluation) {
  const std::vector<const PolicyScore*> shaped = Shaped(evaluation);
  if (shaped.empty() || shaped.front()->profile.by_kind.empty()) return "";
  std::vector<std::string> headers{"kind of task", "rows"};
  for (const PolicyScore* policy : shaped) {
    headers.push_back(Shorten(policy->estimate.name, kNameColumns));
  }
  TextTable table(headers);
  const auto& kinds = shaped.front()->profile.by_kind;
  for (size_t k = 0; k < kinds.size(); ++k) {
    std::vector<std::string> row{kinds[k].kind, CountFigure(kinds[k].rows)};
    for (const PolicyScore* policy : shaped) {
      const KindAction& kind = policy->profile.by_kind[k];
      row.push_back(kind.rows > 0 ? SignedFigure(kind.mean) : "-");
    }
    table.Add(std::move(row));
  }
  return "\nWhat it does: mean action, -1 boosts the task, +1 demotes it\n" + table.Render();
}

std::string Notes(const Evaluation& evaluation) {
  std::string out = "\nNotes\n";
  out += Wrap(Meaning(), "  ");
  out += Wrap(fmt::format("best-constant plays {} throughout, {}.",
                          SignedFigure(evaluation.best_constant), BestConstantOrigin(evaluation)),
              "  ");
  if (evaluation.not_evaluable.empty()) {
    out += Wrap(
        "Totals have wide intervals, since tasks differ; differences on the same tasks are what to "
        "compare. Intervals resample whole tasks.",
        "  ");
  }
  return out;
}

}  // namespace

std::string EvaluationText(const Evaluation& evaluation) {
  std::string out = Head(evaluation);
  if (evaluation.not_evaluable.empty()) out += Totals(evaluation);
  return out + Comparison(evaluation) + Opinion(evaluation) + ActionsByKind(evaluation) +
         Notes(evaluation);
}

}  // namespace kernelx
