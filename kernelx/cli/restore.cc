// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "kernelx/act/journal.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/ground/error.h"

namespace kernelx::cli {
namespace {

struct RestoreFlags {
  bool dry_run = false;
  bool json = false;
};

void Restore(const RestoreFlags& flags) {
  const std::string folder = RunFolder(), path = folder + "/live.journal";
  RestoreReport report;
  if (access(path.c_str(), F_OK) == 0) {
    const int lock = open((folder + "/live.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
      close(lock);
      throw Error(ErrorCode::kState,
                  fmt::format("{}: its owner still runs and puts everything back itself when it is "
                              "stopped (Ctrl-C, or SIGTERM)",
                              path));
    }
    Journal journal = Journal::Open(path);
    report = journal.RestoreAll(flags.dry_run);
    if (!flags.dry_run && report.refused == 0) unlink(path.c_str());
    if (lock >= 0) close(lock);
  }
  if (flags.json) {
    fmt::print("{}\n", nlohmann::json{{"restored", report.restored},
                                      {"inherited", report.inherited},
                                      {"gone", report.gone},
                                      {"foreign", report.foreign},
                                      {"refused", report.refused},
                                      {"dry_run", flags.dry_run}}
                           .dump());
  } else {
    fmt::print(
        "{} tasks {}put back, {} of their children; {} had ended, {} were changed by someone "
        "else since (left alone)\n",
        report.restored, flags.dry_run ? "would be " : "", report.inherited, report.gone,
        report.foreign);
  }
  if (report.refused > 0) {
    throw Error(
        ErrorCode::kMissingCapability,
        fmt::format("{}: {} tasks could not be put back; run as root", path, report.refused));
  }
}

}  // namespace

void AddRestore(CLI::App& root) {
  const auto flags = std::make_shared<RestoreFlags>();
  CLI::App& verb = AddVerb(root, "restore", "put back what a killed `live` left behind",
                           "  kernelx restore --dry-run\n");
  verb.add_flag("--dry-run", flags->dry_run, "only count");
  verb.add_flag("--json", flags->json, "the counts as JSON");
  verb.callback([flags] { Restore(*flags); });
}

}  // namespace kernelx::cli
