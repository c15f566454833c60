// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/env/dynamics.h"
#include "kernelx/ground/error.h"
#include "kernelx/world/world_dynamics.h"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitMissingCapability = 3;

int ExitCode(kernelx::ErrorCode code) {
  switch (code) {
    case kernelx::ErrorCode::kUsage:
      return kExitUsage;
    case kernelx::ErrorCode::kMissingCapability:
      return kExitMissingCapability;
    default:
      return kExitFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  kernelx::RegisterDynamics("world", kernelx::MakeWorldDynamics);
  CLI::App root(
      "kernelx: turn Linux scheduler telemetry into a reinforcement-learning\n"
      "environment, train a scheduling policy in it, judge it by what really happened.",
      "kernelx");
  root.set_version_flag("--version", "kernelx " KERNELX_VERSION);
  root.require_subcommand(1);
  root.formatter(kernelx::cli::HelpFormatter());
  for (const auto add : kernelx::cli::kVerbs) add(root);
  root.footer("Run 'kernelx VERB --help' for flags and examples.");
  try {
    root.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    const int code = root.exit(error);
    return code == 0 ? 0 : kExitUsage;
  } catch (const kernelx::Error& error) {
    fmt::print(stderr, "kernelx: {}\n", error.what());
    return ExitCode(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernelx: {}\n", error.what());
    return kExitFailed;
  }
}
