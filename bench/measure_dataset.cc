// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>

#include "bench/child.h"
#include "bench/measure.h"
#include "bench/timing.h"
#include "kernelx/dataset/reader.h"

namespace kernelx::bench {
namespace {

/// Numbers of a seed row: two states of ten, action, reward, pid, cpu, timestamp.
constexpr double kValuesARow = 25.0;

/// A line of /proc/self/status, in bytes.
double StatusBytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != key + ":") {
  }
  double kilobytes = 0.0;
  status >> kilobytes;
  return kilobytes * 1024.0;
}

void MeasureMemory(const BenchData& data, Session& session) {
  int status = 0;
  double resident = 0.0;
  double peak = 0.0;
  std::istringstream(
      RunChild({"/proc/self/exe", "bench", "--memory-of", data.seed_path}, status)) >>
      resident >> peak;
  BenchRow row{.name = "memory", .unit = "x 8 bytes", .target = "<= 2.2"};
  if (resident <= 0.0) {
    row.why = "not measured: the child that loads the file failed";
    session.rows.push_back(row);
    return;
  }
  const double unit = 8.0 * kValuesARow * static_cast<double>(kRows);
  row.value = resident / unit;
  row.why = fmt::format(
      "growth of resident memory by loading {} rows of {} values without the cache: {:.0f} MB, at "
      "most {:.0f} MB on the way",
      kRows, kValuesARow, resident / 1e6, peak / 1e6);
  BenchRow& appended =
      session.Compare(row, &SeedBaseline::bytes_a_row, 1.0 / (8.0 * kValuesARow), true);
  appended.met = *appended.value <= 2.2;
}

}  // namespace

std::string MemoryOfLoad(const std::string& path) {
  const double before = StatusBytes("VmRSS");
  const Dataset dataset = LoadDataset(path, {.use_cache = false});
  return fmt::format("{} {}\n", StatusBytes("VmRSS") - before, StatusBytes("VmHWM") - before);
}

Dataset MeasureDataset(const BenchData& data, Session& session) {
  MeasureMemory(data, session);
  const double megabytes = static_cast<double>(data.seed_bytes) / 1e6;
  const double load = BestSeconds(
      session.repeats, [&] { return LoadDataset(data.seed_path, {.use_cache = false}); });
  BenchRow& loaded = session.Compare(
      {.name = "load",
       .value = megabytes / load,
       .unit = "MB/s",
       .target = ">= 40 x",
       .why = fmt::format("{} rows, {:.0f} MB of the seed's JSONL in the page cache, all cores",
                          kRows, megabytes)},
      &SeedBaseline::load_mb_s, 1.0);
  if (loaded.ratio) loaded.met = *loaded.ratio >= 40.0;

  LoadDataset(data.seed_path);  // writes the columnar cache
  ReadReport report;
  const double reopen =
      BestSeconds(session.repeats, [&] { return LoadDataset(data.seed_path, {}, &report); });
  BenchRow& reopened = session.Compare(
      {.name = "re-open from the cache",
       .value = megabytes / 1e3 / reopen,
       .unit = "GB/s",
       .target = ">= 1 GB/s",
       .why = "bytes of the JSONL a second, both files hashed; the seed has to load again"},
      &SeedBaseline::load_mb_s, 1e-3);
  reopened.met = report.from_cache && *reopened.value >= 1.0;
  if (!report.from_cache) reopened.why = "the cache could not be written";
  return LoadDataset(data.seed_path);
}

}  // namespace kernelx::bench
