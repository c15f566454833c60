// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The figures that count, measured on the machine at hand beside the same work in plain Python
// (seed_baseline.py). docs/bench.md says how each row is measured. Not here: timed tests; no test
// fails for a slow machine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kernelx::bench {

struct BenchOptions {
  std::string recording;      ///< raw transitions that the data are made of
  std::string seed_baseline;  ///< path of seed_baseline.py
  bool quick = false;         ///< fewer repeats, and Python loads a tenth of the rows
};

/// One figure. What was not measured has no value, and `why` says why not; otherwise `why` says how
/// it was measured.
struct BenchRow {
  std::string name;
  std::optional<double> value = {};
  std::string unit = {};
  std::optional<double> baseline = {};  ///< plain Python doing the same, in `unit`
  std::optional<double> ratio = {};     ///< how many times better than the baseline
  std::string target = {};
  std::optional<bool> met = {};
  std::string why = {};
};

struct Machine {
  std::string cpu;
  unsigned cores = 0;
  std::string kernel;
  std::string compiler;
  std::string version;
  double load = 0.0;  ///< one-minute load average before the run: above 0.5, others disturbed it
};

struct BenchReport {
  std::vector<BenchRow> rows = {};
  Machine machine;
};

/// Measures everything; takes a minute or two (a third with `quick`) and some 300 MB of the folder
/// for temporary files, which it leaves empty. `log` gets a line at the start of each part. Throws
/// what reading the recording throws.
BenchReport RunBench(const BenchOptions& options,
                     const std::function<void(const std::string&)>& log);

/// Loads a processed file without its cache and says by how many bytes resident memory has grown,
/// and had at most: for a process that has done nothing else, which `RunBench` starts.
std::string MemoryOfLoad(const std::string& path);

}  // namespace kernelx::bench
