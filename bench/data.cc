// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "bench/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <vector>

#include "kernelx/dataset/reader.h"
#include "kernelx/dataset/writer.h"
#include "kernelx/ground/error.h"
#include "kernelx/preprocess/preprocess.h"

namespace kernelx::bench {
namespace {

/// A row with the keys and the spelling of the seed's own files: Python's json.dumps of floats.
void AppendSeedRow(const Dataset& data, size_t row, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"state\": [{:#}], \"action\": {:#}, \"reward\": {}, \"next_state\": [{:#}], "
                 "\"pid\": {}, \"cpu\": {}, \"timestamp\": {}}}\n",
                 fmt::join(data.state(row), ", "), data.action()[row], data.reward()[row],
                 fmt::join(data.next_state(row), ", "), data.pid()[row], data.cpu()[row],
                 data.timestamp_ns()[row]);
}

}  // namespace

TemporaryFolder::TemporaryFolder()
    : path_((std::filesystem::temp_directory_path() / "kernelx-bench-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) {
    throw Error(ErrorCode::kFile, fmt::format("{}: {}; set TMPDIR to a folder that can be written",
                                              path_, std::strerror(errno)));
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

BenchData MakeData(const std::string& recording, const std::string& folder) {
  const std::vector<RawTransition> raw = ReadRaw(recording);
  BenchData data;
  data.extended = ExtractFeatures(raw, FeatureSet::Extended(), recording);
  const Dataset seed = ExtractFeatures(raw, FeatureSet::Seed(), recording);
  std::string text;
  for (size_t row = 0; row < kRows; ++row) AppendSeedRow(seed, row % seed.size(), text);
  data.seed_path = folder + "/seed.jsonl";
  data.seed_bytes = text.size();
  TextWriter writer(data.seed_path);
  writer.Write(text);
  writer.Commit();
  return data;
}

}  // namespace kernelx::bench
