// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// A verb is one file of this room: it declares its flags on a CLI11 subcommand and sets the
// callback that does the work. Results go to stdout, everything else to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kernelx::cli {

/// Adds the subcommand `name` with `--config FILE` (TOML or JSON), a one-line summary for the list
/// of verbs, and examples printed at the end of its help. Each line of `examples` that starts with
/// "kernelx " is run by a test, in a folder where `data/` is the project's.
CLI::App& AddVerb(CLI::App& root, const std::string& name, const std::string& summary,
                  const std::string& examples);

}  // namespace kernelx::cli
