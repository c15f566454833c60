// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/recompress.h"
#include "kernelx/ground/error.h"

namespace kernelx::cli {
namespace {

struct ConvertFlags {
  std::string in;
  std::string out;
  std::string to;
  std::string quarantine;
  unsigned threads = 0;
};

/// Refuses what no conversion can do, with what can.
void CheckForms(const ConvertFlags& flags) {
  if (flags.in == "-" || flags.out == "-") {
    throw Error(ErrorCode::kUsage, "convert: `-` is not supported; name a file");
  }
  if (flags.to.empty()) return;
  const FileForm wanted = flags.to == "raw" ? FileForm::kRaw : FileForm::kProcessed;
  const FileForm form = DetectForm(flags.in);
  if (form == wanted) return;
  if (form == FileForm::kRaw) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}: is a raw recording; features are made by `kernelx preprocess {} "
                            "--out DIR`",
                            flags.in, flags.in));
  }
  throw Error(
      ErrorCode::kUsage,
      fmt::format("{}: is processed; the raw counters cannot be had back from its features; "
                  "convert the recording it was made from",
                  flags.in));
}

void Convert(const ConvertFlags& flags) {
  CheckForms(flags);
  std::optional<Quarantine> quarantine;
  if (!flags.quarantine.empty()) quarantine.emplace(flags.quarantine);
  const ReadReport report =
      Recompress(flags.in, flags.out,
                 {.threads = flags.threads, .quarantine = quarantine ? &*quarantine : nullptr});
  if (quarantine) quarantine->Commit();
  const auto bytes_in = std::filesystem::file_size(flags.in);
  const auto bytes_out = std::filesystem::file_size(flags.out);
  fmt::print("{} -> {}: {} rows, {:.1f} MB -> {:.1f} MB\n", flags.in, flags.out, report.rows,
             static_cast<double>(bytes_in) / 1e6, static_cast<double>(bytes_out) / 1e6);
  if (report.bad > 0) {
    fmt::print(stderr, "kernelx convert: {} bad lines set aside in {}\n", report.bad,
               flags.quarantine);
  }
}

}  // namespace

void AddConvert(CLI::App& root) {
  const auto flags = std::make_shared<ConvertFlags>();
  CLI::App& verb =
      AddVerb(root, "convert", "copy a recording or dataset, compressed as the suffix says",
              "  kernelx convert data/observational.jsonl.xz observational.jsonl.zst\n"
              "  kernelx convert observational.jsonl.zst observational.jsonl --threads 1\n");
  verb.add_option("in", flags->in, "file to read; its compression is told by its content")
      ->required()
      ->type_name("IN");
  verb.add_option("out", flags->out, "file to write: .gz, .xz, .zst, anything else plain")
      ->required()
      ->type_name("OUT");
  verb.add_option("--to", flags->to, "raw or processed: refuse a file of the other form")
      ->check(CLI::IsMember({"raw", "processed"}))
      ->type_name("FORM");
  verb.add_option("--quarantine", flags->quarantine, "set bad lines aside in FILE and go on")
      ->type_name("FILE");
  verb.add_option("--threads", flags->threads, "threads that parse [0: one a core]")
      ->type_name("N");
  verb.callback([flags] { Convert(*flags); });
}

}  // namespace kernelx::cli
