// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/ground/error.h"
#include "kernelx/record/host.h"

namespace kernelx::cli {
namespace {

void Doctor(bool as_json) {
  const HostReport report = CheckHost();
  if (as_json) {
    nlohmann::json json = {{"checks", nlohmann::json::array()},
                           {"can_record", report.can_record()},
                           {"rung", report.rung()},
                           {"can_act", report.can_act()}};
    for (const HostCheck& check : report.checks) {
      json["checks"].push_back(
          {{"name", check.name}, {"ok", check.ok}, {"detail", check.detail}, {"mend", check.mend}});
    }
    fmt::print("{}\n", json.dump(2));
  } else {
    for (const HostCheck& check : report.checks) {
      const bool needed = check.record || check.act;
      fmt::print("{:8} {:12} {}\n",
                 check.ok ? "ok"
                 : needed ? "MISSING"
                          : "without",
                 check.name, check.detail);
      if (!check.mend.empty()) fmt::print("{:21} -> {}\n", "", check.mend);
    }
    fmt::print("\nrecording: {}   acting: {}\n",
               report.can_record() ? fmt::format("possible by {}", report.rung()) : "impossible",
               report.can_act() ? "possible" : "impossible");
  }
  if (!report.can_record() || !report.can_act()) {
    throw Error(ErrorCode::kMissingCapability,
                report.can_record() ? "doctor: acting is impossible here; see the lines above"
                                    : "doctor: recording is impossible here; see the lines above");
  }
}

}  // namespace

void AddDoctor(CLI::App& root) {
  const auto as_json = std::make_shared<bool>(false);
  CLI::App& verb =
      AddVerb(root, "doctor", "what this host lets us do, and how to mend what is missing",
              "  kernelx doctor\n"
              "  kernelx doctor --json\n");
  verb.add_flag("--json", *as_json, "one object");
  verb.callback([as_json] { Doctor(*as_json); });
}

}  // namespace kernelx::cli
