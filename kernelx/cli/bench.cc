// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/ground/file.h"

namespace kernelx::cli {
namespace {

using bench::BenchReport;
using bench::BenchRow;
using Json = nlohmann::ordered_json;

struct Flags {
  bench::BenchOptions bench;
  std::string out;
  std::string memory_of;
  bool json = false;
};

/// Where `file` lies: in the source folder of this build, else beside the installed program.
std::string Locate(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(file, ignored)) return file;
  const fs::path installed = fs::read_symlink("/proc/self/exe", ignored).parent_path() / ".." /
                             "share" / "kernelx" / fs::path(file).filename();
  return fs::exists(installed, ignored) ? installed.lexically_normal().string() : file;
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json ToJson(const BenchReport& report) {
  Json rows = Json::array();
  for (const BenchRow& row : report.rows) {
    rows.push_back({{"name", row.name},
                    {"value", OrNull(row.value)},
                    {"unit", row.unit},
                    {"baseline", OrNull(row.baseline)},
                    {"ratio", OrNull(row.ratio)},
                    {"target", row.target},
                    {"met", OrNull(row.met)},
                    {"why", row.why}});
  }
  const bench::Machine& machine = report.machine;
  return {{"rows", rows},
          {"machine",
           {{"cpu", machine.cpu},
            {"cores", machine.cores},
            {"kernel", machine.kernel},
            {"compiler", machine.compiler},
            {"version", machine.version},
            {"load", machine.load}}}};
}

/// Three significant digits.
std::string Short(const std::optional<double>& value) {
  if (!value) return "-";
  const double size = std::abs(*value);
  return fmt::format("{:.{}f}", *value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/// `text` in lines of at most 76 columns, indented.
void PrintWrapped(const std::string& text) {
  constexpr size_t kWidth = 76;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(at + kWidth, text.size());
    if (end < text.size()) {
      const size_t space = text.rfind(' ', end);
      if (space != std::string::npos && space > at) end = space;
    }
    fmt::print("    {}\n", text.substr(at, end - at));
    at = end < text.size() ? end + 1 : end;
  }
}

void PrintTable(const BenchReport& report) {
  const bench::Machine& machine = report.machine;
  fmt::print("kernelx {} on {}, {} cores, Linux {}, {}\nload average before the run {:.2f}{}\n\n",
             machine.version, machine.cpu, machine.cores, machine.kernel, machine.compiler,
             machine.load, machine.load > 0.5 ? ": others disturbed the figures" : "");
  fmt::print("{:<30} {:>5} {:<10}{:>6} {:>5}  {:<17}{}\n", "what", "here", "", "Python", "ratio",
             "target", "met");
  for (const BenchRow& row : report.rows) {
    if (!row.value) continue;
    const char* met = row.met ? (*row.met ? "yes" : "NO") : "";
    fmt::print("{:<30} {:>5} {:<10}{:>6} {:>5}  {:<17}{}\n", row.name, Short(row.value), row.unit,
               Short(row.baseline), Short(row.ratio), row.target, met);
  }
  fmt::print("\nhow:\n");
  for (const BenchRow& row : report.rows) {
    if (!row.value) continue;
    fmt::print("  {}\n", row.name);
    PrintWrapped(row.why);
  }
  fmt::print("\nnot measured:\n");
  for (const BenchRow& row : report.rows) {
    if (!row.value) fmt::print("  {:<33}{}\n", row.name, row.why);
  }
}

void Run(const Flags& flags) {
  if (!flags.memory_of.empty()) {
    fmt::print("{}", bench::MemoryOfLoad(flags.memory_of));
    return;
  }
  const BenchReport report = RunBench(
      flags.bench, [](const std::string& line) { fmt::print(stderr, "bench: {}\n", line); });
  const std::string json = ToJson(report).dump(1) + "\n";
  if (!flags.out.empty()) WriteFileAtomically(flags.out, json);
  if (flags.json) {
    fmt::print("{}", json);
  } else {
    PrintTable(report);
  }
}

}  // namespace

void AddBench(CLI::App& root) {
  auto flags = std::make_shared<Flags>();
  flags->bench.recording = KERNELX_BENCH_RECORDING;
  flags->bench.seed_baseline = Locate(KERNELX_SEED_BASELINE);
  CLI::App& verb = AddVerb(root, "bench", "the figures that count, measured beside plain Python",
                           "  kernelx bench --quick\n"
                           "  kernelx bench --quick --json --out /tmp/kx-bench.json\n");
  verb.add_flag("--quick", flags->bench.quick, "fewer repeats, less of the Python side");
  verb.add_flag("--json", flags->json, "print the report as JSON");
  verb.add_option("--out", flags->out, "also write the JSON report to this file");
  verb.add_option("--recording", flags->bench.recording, "raw transitions to measure on")
      ->default_str("the bundled recording A");
  verb.add_option("--seed-baseline", flags->bench.seed_baseline, "the Python side, run by python3")
      ->default_str("seed_baseline.py of the source folder");
  // How the verb runs itself to measure memory; not for people.
  verb.add_option("--memory-of", flags->memory_of)->group("");
  verb.callback([flags] { Run(*flags); });
}

}  // namespace kernelx::cli
