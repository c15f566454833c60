// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/preprocess/preprocess.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"

namespace kernelx::cli {
namespace {

struct Flags {
  std::vector<std::string> recordings;
  std::string out;
  std::string features = "extended";
  std::string quarantine;
  unsigned threads = 0;
  bool json = false;
};

void Run(const Flags& flags) {
  const FeatureSet set = FeatureSet::Load(flags.features);
  ReadOptions options;
  options.threads = flags.threads;
  std::unique_ptr<Quarantine> quarantine;
  if (!flags.quarantine.empty()) {
    quarantine = std::make_unique<Quarantine>(flags.quarantine);
    options.quarantine = quarantine.get();
  }
  const PreprocessReport report = Preprocess(flags.recordings, set, flags.out, options);
  if (quarantine) quarantine->Commit();
  for (const std::string& warning : report.warnings) fmt::print(stderr, "warning: {}\n", warning);
  for (const std::string& note : report.read.notes) fmt::print(stderr, "note: {}\n", note);
  if (flags.json) {
    const nlohmann::ordered_json out = {
        {"rows", report.rows},     {"tasks", report.tasks},         {"bad", report.read.bad},
        {"features", set.names()}, {"train", report.train},         {"val", report.validation},
        {"test", report.test},     {"embargoed", report.embargoed}, {"chains", report.chains}};
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("{} rows of {} tasks in {} unbroken runs, {} features ({})\n", report.rows,
             report.tasks, report.chains, set.size(), set.name());
  fmt::print("  train {}   val {}   test {}   embargoed at the cuts {}\n", report.train,
             report.validation, report.test, report.embargoed);
  if (report.read.bad > 0) {
    fmt::print("  {} bad lines set aside in {}\n", report.read.bad, flags.quarantine);
  }
  fmt::print("  wrote {}/{{train,val,test}}.jsonl and features.json\n", flags.out);
}

}  // namespace

void AddPreprocess(CLI::App& root) {
  auto flags = std::make_shared<Flags>();
  CLI::App& verb =
      AddVerb(root, "preprocess", "raw recordings into features, split by time",
              "  kernelx preprocess data/observational.jsonl.xz --out /tmp/kx-obs\n"
              "  kernelx preprocess data/observational.jsonl.xz --out /tmp/kx-seed \\\n"
              "      --features seed\n");
  verb.add_option("recordings", flags->recordings, "raw transitions: .jsonl, .gz, .xz or .zst")
      ->required();
  verb.add_option("--out", flags->out, "folder for train, val, test and features.json")->required();
  verb.add_option("--features", flags->features, "seed, extended or a JSON file")
      ->capture_default_str();
  verb.add_option("--quarantine", flags->quarantine, "set bad lines aside in this file and go on");
  verb.add_option("--threads", flags->threads, "threads (0: one a core)")->capture_default_str();
  verb.add_flag("--json", flags->json, "print the summary as JSON");
  verb.callback([flags] { Run(*flags); });
}

}  // namespace kernelx::cli
