// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Flags that several verbs share, declared once.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "kernelx/dataset/dataset.h"
#include "kernelx/env/scenario.h"

namespace kernelx::cli {

/// `--data --dynamics --order --reward --alpha --beta --gamma --price --hold --max-steps --seed
/// --threads`: what an environment is made of.
struct ScenarioFlags {
  std::string data;
  std::string order = "task";
  ScenarioOptions options;
  uint64_t seed = 0;

  void AddTo(CLI::App& verb, const std::string& default_dynamics);
  /// The dataset named by `--data`; warnings of the read go to stderr.
  [[nodiscard]] Dataset Load() const;
  [[nodiscard]] std::shared_ptr<const Scenario> Make(Dataset dataset) const;
};

/// Loads processed rows from a file or folder and prints the reader's notes to stderr.
Dataset LoadData(const std::string& path, unsigned threads);

}  // namespace kernelx::cli
