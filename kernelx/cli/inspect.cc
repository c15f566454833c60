// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernelx/cli/inspect_policy.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/dataset/audit.h"

namespace kernelx::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kCommsShown = 12;
constexpr size_t kBarWidth = 44;

struct InspectFlags {
  std::vector<std::string> files;
  std::string quarantine;
  unsigned threads = 0;
  bool json = false;
};

std::string_view FormName(FileForm form) { return form == FileForm::kRaw ? "raw" : "processed"; }

/// What the recording knows of how its actions came about.
std::string_view Propensities(const Audit& audit) {
  if (audit.behavior_known == 0) return "unknown";
  return audit.behavior_known == audit.rows ? "known" : "partly known";
}

/// 1234567 as 1,234,567.
std::string Thousands(uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

/// A number in at most 10 columns: whole numbers as they are while they fit.
std::string Short(double value) {
  std::string whole = fmt::format("{:.0f}", value);
  if (value == std::floor(value) && whole.size() <= 7) return whole;
  return fmt::format("{:.4g}", value);
}

Json FeatureJson(const FeatureAudit& feature, uint64_t rows) {
  Json json = {{"name", feature.name}};
  if (feature.exact_min) {
    json["min"] = *feature.exact_min;
    json["max"] = *feature.exact_max;
  } else {
    json["min"] = feature.min;
    json["max"] = feature.max;
  }
  json["mean"] = feature.mean;
  json["sd"] = feature.sd;
  json["zeros_percent"] = 100.0 * static_cast<double>(feature.zeros) / static_cast<double>(rows);
  json["distinct"] = feature.distinct;
  json["distinct_exact"] = feature.distinct_exact;
  return json;
}

Json BadByKind(const ReadReport& report) {
  Json json = Json::object();
  for (size_t kind = 0; kind < kBadKinds; ++kind) {
    if (report.bad_by_kind[kind] == 0) continue;
    json[std::string(BadKindName(static_cast<BadKind>(kind)))] = report.bad_by_kind[kind];
  }
  return json;
}

Json AuditJson(const Audit& audit) {
  Json json = {{"file", audit.path},
               {"form", FormName(audit.form)},
               {"rows", audit.rows},
               {"tasks", audit.tasks},
               {"bad", audit.read.bad},
               {"bad_by_kind", BadByKind(audit.read)},
               {"blank_lines", audit.read.blank_lines},
               {"optional_columns", audit.optional_columns},
               {"pids", audit.pids},
               {"reused_pids", audit.reused_pids}};
  json["time"] = {{"first_ns", audit.first_ns},
                  {"last_ns", audit.last_ns},
                  {"span_s", static_cast<double>(audit.last_ns - audit.first_ns) / 1e9},
                  {"equal", audit.equal_times},
                  {"backward", audit.backward_times},
                  {"backward_pairs", audit.backward_pairs}};
  json["gaps"] = audit.gaps ? Json(*audit.gaps) : Json(nullptr);
  json["counter_resets"] = audit.counter_resets;
  json["mixed_pairs"] = audit.mixed_pairs;
  json["reward_mismatches"] = audit.reward_mismatches;
  json["actions"] = {{"histogram", audit.action_bins},
                     {"zeros", audit.zero_actions},
                     {"below", audit.actions_below},
                     {"above", audit.actions_above}};
  json["behavior"] = {{"propensities", Propensities(audit)},
                      {"rows", audit.behavior_known},
                      {"draws", audit.draws},
                      {"applied_rows", audit.applied_known},
                      {"in_force", audit.draws_in_force},
                      {"group_draws", audit.group_draws},
                      {"task_draws", audit.draws - audit.group_draws},
                      {"windows", audit.windows}};
  json["comms"] = Json::array();
  for (const auto& comm : audit.comms) {
    json["comms"].push_back(
        {{"name", comm.name}, {"rows", comm.rows}, {"tasks", comm.tasks}, {"draws", comm.draws}});
  }
  json["features"] = Json::array();
  for (const auto& feature : audit.features) {
    json["features"].push_back(FeatureJson(feature, audit.rows));
  }
  json["notes"] = audit.read.notes;
  return json;
}

void PrintLine(std::string_view label, std::string_view text) {
  fmt::print("  {:<14}{}\n", label, text);
}

void PrintOverview(const Audit& audit) {
  fmt::print("{}: {} transitions\n", audit.path, FormName(audit.form));
  PrintLine("rows", Thousands(audit.rows));
  std::string bad = Thousands(audit.read.bad);
  for (size_t kind = 0; kind < kBadKinds; ++kind) {
    const uint64_t count = audit.read.bad_by_kind[kind];
    if (count > 0) bad += fmt::format("   {} {}", BadKindName(static_cast<BadKind>(kind)), count);
  }
  PrintLine("bad lines", bad);
  PrintLine("tasks", fmt::format("{} ({} pids, {} of them reused)", Thousands(audit.tasks),
                                 Thousands(audit.pids), audit.reused_pids));
  std::string keys;
  for (const auto& name : audit.optional_columns) keys += (keys.empty() ? "" : ", ") + name;
  PrintLine("extra keys", keys.empty() ? "none" : keys);
  PrintLine("time", fmt::format("{:.3f} s; {} rows at the time of the row before, {} earlier",
                                static_cast<double>(audit.last_ns - audit.first_ns) / 1e9,
                                audit.equal_times, audit.backward_times));
  PrintLine("gaps", audit.gaps
                        ? fmt::format("{} rows do not begin where their task's last row ended",
                                      Thousands(*audit.gaps))
                        : "unknown: rows do not say when they end");
  const auto count = [](uint64_t n, std::string_view what) {
    if (n > 0) PrintLine("beware", fmt::format("{} {}", Thousands(n), what));
  };
  count(audit.backward_pairs, "rows end before they begin");
  count(audit.counter_resets, "CPU time counters ran backwards");
  count(audit.mixed_pairs, "rows join events of two pids");
  count(audit.reward_mismatches, "rewards are not wait - next wait");
  for (const auto& note : audit.read.notes) PrintLine("beware", note);
}

void PrintBehavior(const Audit& audit) {
  PrintLine("propensities", Propensities(audit));
  if (audit.behavior_known == 0) return;
  PrintLine("draws", fmt::format("{} ({} by task, {} by group) in {} windows",
                                 Thousands(audit.draws), Thousands(audit.draws - audit.group_draws),
                                 Thousands(audit.group_draws), Thousands(audit.windows)));
  if (audit.draws > 0 && audit.applied_known > 0) {
    PrintLine("in force",
              fmt::format("{} of the draws at the next event ({})", Thousands(audit.draws_in_force),
                          Percent(audit.draws_in_force, audit.draws)));
  }
}

void PrintActions(const Audit& audit) {
  fmt::print("\n  actions: {} exactly 0 ({})", Thousands(audit.zero_actions),
             Percent(audit.zero_actions, audit.rows));
  if (audit.actions_below + audit.actions_above > 0) {
    fmt::print(", {} under -1, {} over 1", audit.actions_below, audit.actions_above);
  }
  fmt::print("\n");
  const uint64_t most = *std::max_element(audit.action_bins.begin(), audit.action_bins.end());
  for (size_t bin = 0; bin < kActionBins; ++bin) {
    const double low = -1.0 + 2.0 * static_cast<double>(bin) / kActionBins;
    const size_t bar = most == 0 ? 0 : (audit.action_bins[bin] * kBarWidth + most - 1) / most;
    fmt::print("  {:>6.2f} .. {:>5.2f} {:>11}  {}\n", low, low + 2.0 / kActionBins,
               Thousands(audit.action_bins[bin]), std::string(bar, '#'));
  }
}

void PrintComms(const Audit& audit) {
  if (audit.comms.empty()) return;
  fmt::print("\n  {:<20}{:>12}{:>10}{:>10}\n", "command", "rows", "tasks", "draws");
  for (size_t i = 0; i < std::min(audit.comms.size(), kCommsShown); ++i) {
    const CommAudit& comm = audit.comms[i];
    fmt::print("  {:<20}{:>12}{:>10}{:>10}\n", comm.name, Thousands(comm.rows),
               Thousands(comm.tasks), Thousands(comm.draws));
  }
  if (audit.comms.size() > kCommsShown) {
    fmt::print("  and {} more (--json lists all)\n", audit.comms.size() - kCommsShown);
  }
}

void PrintFeatures(const Audit& audit) {
  fmt::print("\n  {:<16}{:>11}{:>11}{:>11}{:>11}{:>7}{:>11}\n", "feature", "min", "max", "mean",
             "sd", "zero %", "distinct");
  for (const FeatureAudit& feature : audit.features) {
    const double zeros =
        100.0 * static_cast<double>(feature.zeros) / static_cast<double>(audit.rows);
    fmt::print("  {:<16}{:>11}{:>11}{:>11}{:>11}{:>7.1f}{:>11}\n", feature.name, Short(feature.min),
               Short(feature.max), Short(feature.mean), Short(feature.sd), zeros,
               (feature.distinct_exact ? "" : ">") + Thousands(feature.distinct));
  }
}

void PrintAudit(const Audit& audit) {
  PrintOverview(audit);
  PrintBehavior(audit);
  PrintActions(audit);
  PrintComms(audit);
  PrintFeatures(audit);
}

void Inspect(const InspectFlags& flags) {
  std::optional<Quarantine> quarantine;
  if (!flags.quarantine.empty()) quarantine.emplace(flags.quarantine);
  const ReadOptions options{.threads = flags.threads,
                            .quarantine = quarantine ? &*quarantine : nullptr};
  Json all = Json::array();
  for (const auto& file : flags.files) {
    if (IsPolicy(file) || IsRun(file)) {
      const Json json = IsPolicy(file) ? InspectPolicy(file) : InspectRun(file);
      if (flags.json) {
        all.push_back(json);
      } else {
        PrintInspected(json);
      }
      continue;
    }
    const Audit audit = AuditFile(file, options);
    if (flags.json) {
      all.push_back(AuditJson(audit));
      continue;
    }
    if (&file != &flags.files.front()) fmt::print("\n");
    PrintAudit(audit);
  }
  if (quarantine) quarantine->Commit();
  if (flags.json) fmt::print("{}\n", (flags.files.size() == 1 ? all[0] : all).dump());
}

}  // namespace

void AddInspect(CLI::App& root) {
  const auto flags = std::make_shared<InspectFlags>();
  CLI::App& verb = AddVerb(root, "inspect", "what a recording, dataset, policy or run holds",
                           "  kernelx inspect data/observational.jsonl.xz\n"
                           "  kernelx inspect data/observational.jsonl.xz --json\n");
  verb.add_option("files", flags->files,
                  "raw or processed files, folders of splits, policies, run folders")
      ->required()
      ->type_name("FILE");
  verb.add_flag("--json", flags->json, "one object; for several files an array of them");
  verb.add_option("--quarantine", flags->quarantine, "set bad lines aside in FILE and go on")
      ->type_name("FILE");
  verb.add_option("--threads", flags->threads, "threads that parse [0: one a core]")
      ->type_name("N");
  verb.callback([flags] { Inspect(*flags); });
}

}  // namespace kernelx::cli
