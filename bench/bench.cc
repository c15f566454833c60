// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "bench/bench.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "bench/measure.h"

namespace kernelx::bench {
namespace {

Machine ThisMachine() {
  Machine machine;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line) && machine.cpu.empty();) {
    if (line.starts_with("model name")) machine.cpu = line.substr(line.find(": ") + 2);
  }
  machine.cores = std::thread::hardware_concurrency();
  utsname system{};
  if (uname(&system) == 0) machine.kernel = system.release;
#ifdef __clang__
  machine.compiler = __VERSION__;
#else
  machine.compiler = "GCC " __VERSION__;
#endif
  machine.version = KERNELX_VERSION;
  if (double load = 0.0; getloadavg(&load, 1) == 1) machine.load = load;
  return machine;
}

}  // namespace

BenchRow& Session::Compare(BenchRow row, double SeedBaseline::*seed, double unit,
                           bool smaller_is_better) {
  if (!baseline) {
    row.why += "; " + no_baseline;
  } else {
    row.baseline = (*baseline).*seed * unit;
    row.ratio = smaller_is_better ? *row.baseline / *row.value : *row.value / *row.baseline;
  }
  return rows.emplace_back(std::move(row));
}

BenchReport RunBench(const BenchOptions& options,
                     const std::function<void(const std::string&)>& log) {
  BenchReport report{.machine = ThisMachine()};
  Session session;
  session.repeats = options.quick ? 3 : 7;
  session.seconds = options.quick ? 0.2 : 0.5;

  const TemporaryFolder folder;
  log("data: " + options.recording);
  const BenchData data = MakeData(options.recording, folder.path());
  log("the same work in plain Python");
  session.baseline =
      RunSeedBaseline(options.seed_baseline, data.seed_path, options.quick ? kRows / 10 : 0,
                      options.quick ? 0.3 : 1.0, session.no_baseline);
  log("load, re-open, memory");
  const Dataset seed = MeasureDataset(data, session);
  log("step");
  MeasureSteps(seed, data.extended, session);
  log("simulate");
  MeasureSimulate(seed, session);
  log("decision, GRPO, World Model");
  MeasureDecision(data.extended, session);
  MeasureGrpo(data.extended, session);
  MeasureWorld(session);
  ListUnmeasured(session);
  report.rows = std::move(session.rows);
  return report;
}

}  // namespace kernelx::bench
