// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// A verb is one file of this room: it declares its flags on a CLI11 subcommand and sets the
// callback that does the work. Results go to stdout, everything else to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace kernelx::cli {

/// Adds the subcommand `name` with `--config FILE` (TOML or JSON), a one-line summary for the list
/// of verbs, and examples printed at the end of its help. Each command among `examples` is run by a
/// test, in a folder where `data/` is the project's; one that needs more than 80 columns goes on
/// after a backslash.
CLI::App& AddVerb(CLI::App& root, const std::string& name, const std::string& summary,
                  const std::string& examples);

/// Help in 80 columns: long descriptions go on in their own column.
std::shared_ptr<CLI::FormatterBase> HelpFormatter();

}  // namespace kernelx::cli
