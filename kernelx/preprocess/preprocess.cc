// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/preprocess/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <unordered_set>

#include "kernelx/dataset/builder.h"
#include "kernelx/dataset/split.h"
#include "kernelx/dataset/writer.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"
#include "kernelx/preprocess/extractor.h"

namespace kernelx {
namespace {

constexpr size_t kBatch = 8192;

Delta DeltaOf(const RawTransition& row) {
  const auto& a = row.state.features;
  const auto& b = row.next.features;
  return {.exec_ns = b[kSlotExecNs] - a[kSlotExecNs],
          .vruntime_ns = static_cast<int64_t>(b[kSlotVruntimeNs] - a[kSlotVruntimeNs]),
          .wait_us = a[kSlotWaitUs],
          .next_wait_us = b[kSlotWaitUs],
          .voluntary = static_cast<uint32_t>(b[kSlotVoluntary] - a[kSlotVoluntary]),
          .involuntary = static_cast<uint32_t>(b[kSlotInvoluntary] - a[kSlotInvoluntary]),
          .sleep_us = b[kSlotSleepUs]};
}

/// The features of every row, in the rows' own order.
struct Matrix {
  std::vector<double> state, next_state;
  size_t chains = 0;
};

/// Feeds the events to the extractor in order of time: a row's `next` is an event, and its `state`
/// is one too where the recording begins or was interrupted.
Matrix Extract(std::span<const RawTransition> rows, const FeatureSet& set) {
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return rows[i].next.timestamp_ns; });
  const size_t width = set.size();
  Matrix matrix{.state = std::vector<double>(rows.size() * width),
                .next_state = std::vector<double>(rows.size() * width)};
  FeatureExtractor extractor(set);
  std::unordered_map<TaskId, uint32_t, TaskIdHash> last_row;
  for (const uint32_t i : order) {
    const RawTransition& row = rows[i];
    const TaskId task = TaskOf(row.state);
    const std::span state(matrix.state.data() + i * width, width);
    const auto last = last_row.find(task);
    const bool goes_on = last != last_row.end() &&
                         rows[last->second].next.timestamp_ns == row.state.timestamp_ns &&
                         rows[last->second].next.features == row.state.features;
    if (goes_on) {
      std::copy_n(matrix.next_state.data() + last->second * width, width, state.data());
    } else {
      extractor.Forget(task);
      extractor.Observe(row.state, 0.0, state);
      ++matrix.chains;
    }
    extractor.Observe(row.next, row.action, {matrix.next_state.data() + i * width, width});
    last_row[task] = i;
  }
  return matrix;
}

Row MakeRow(const RawTransition& raw, const Matrix& matrix, size_t i, size_t width) {
  const double* state = matrix.state.data() + i * width;
  const double* next = matrix.next_state.data() + i * width;
  return {.state = {state, state + width},
          .next_state = {next, next + width},
          .action = raw.action,
          .reward = static_cast<double>(raw.reward),
          .pid = raw.state.pid,
          .cpu = raw.state.cpu,
          .timestamp_ns = raw.state.timestamp_ns,
          .next_timestamp_ns = raw.next.timestamp_ns,
          .start_ns = raw.state.features[kSlotStartNs],
          .delta = DeltaOf(raw),
          .behavior = raw.behavior,
          .applied = raw.applied,
          .comm = raw.comm};
}

/// Running mean and sd of each column (Welford, double).
class Moments {
 public:
  explicit Moments(size_t width) : mean_(width, 0.0), m2_(width, 0.0) {}

  void Add(const double* values) {
    ++count_;
    for (size_t i = 0; i < mean_.size(); ++i) {
      const double difference = values[i] - mean_[i];
      mean_[i] += difference / static_cast<double>(count_);
      m2_[i] += difference * (values[i] - mean_[i]);
    }
  }
  [[nodiscard]] const std::vector<double>& mean() const { return mean_; }
  [[nodiscard]] std::vector<double> sd() const {
    std::vector<double> sd;
    for (const double m2 : m2_) {
      sd.push_back(count_ > 0 ? std::sqrt(m2 / static_cast<double>(count_)) : 0.0);
    }
    return sd;
  }

 private:
  size_t count_ = 0;
  std::vector<double> mean_, m2_;
};

/// Every column our processed rows carry.
constexpr uint32_t kColumns = ColumnBits(Column::kNextTimestamp, Column::kDelta, Column::kBehavior,
                                         Column::kApplied, Column::kComm, Column::kStart);

/// The three split files of a folder, open at once so that they can appear together.
struct SplitFiles {
  explicit SplitFiles(const std::string& folder)
      : train(folder + "/train.jsonl", kColumns),
        validation(folder + "/val.jsonl", kColumns),
        test(folder + "/test.jsonl", kColumns) {}
  ProcessedWriter train, validation, test;
};

void WriteRows(std::span<const size_t> indices, std::span<const RawTransition> raw,
               const Matrix& matrix, size_t width, ProcessedWriter& file) {
  std::vector<Row> batch;
  for (size_t begin = 0; begin < indices.size(); begin += kBatch) {
    batch.clear();
    for (const size_t i : indices.subspan(begin, std::min(kBatch, indices.size() - begin))) {
      batch.push_back(MakeRow(raw[i], matrix, i, width));
    }
    file.AppendText(FormatProcessed(batch, kColumns));
  }
}

void AddRead(const ReadReport& from, ReadReport& to) {
  to.rows += from.rows;
  to.blank_lines += from.blank_lines;
  to.bad += from.bad;
  to.bytes += from.bytes;
  for (size_t kind = 0; kind < kBadKinds; ++kind) to.bad_by_kind[kind] += from.bad_by_kind[kind];
  to.notes.insert(to.notes.end(), from.notes.begin(), from.notes.end());
}

void PreprocessOne(const std::string& path, const FeatureSet& set, const ReadOptions& options,
                   SplitFiles& files, Moments& moments, PreprocessReport& report) {
  if (DetectForm(path) != FileForm::kRaw) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: holds processed rows, not a raw recording; it needs no preprocessing",
                    path));
  }
  ReadReport read;
  const std::vector<RawTransition> raw = ReadRaw(path, options, &read);
  AddRead(read, report.read);
  const Matrix matrix = Extract(raw, set);
  std::vector<uint64_t> begins, ends;
  std::unordered_set<TaskId, TaskIdHash> tasks;
  for (const RawTransition& row : raw) {
    begins.push_back(row.state.timestamp_ns);
    ends.push_back(row.next.timestamp_ns);
    tasks.insert(TaskOf(row.state));
  }
  const Split split = ChronologicalSplit(begins, ends);
  for (const std::string& warning : split.warnings) {
    report.warnings.push_back(path + ": " + warning);
  }
  const size_t width = set.size();
  for (const size_t i : split.train) moments.Add(matrix.state.data() + i * width);
  WriteRows(split.train, raw, matrix, width, files.train);
  WriteRows(split.validation, raw, matrix, width, files.validation);
  WriteRows(split.test, raw, matrix, width, files.test);
  report.rows += raw.size();
  report.tasks += tasks.size();
  report.chains += matrix.chains;
  report.train += split.train.size();
  report.validation += split.validation.size();
  report.test += split.test.size();
  report.embargoed += split.embargoed.size();
}

}  // namespace

Dataset ExtractFeatures(std::span<const RawTransition> rows, const FeatureSet& set,
                        const std::string& source) {
  const Matrix matrix = Extract(rows, set);
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return rows[i].state.timestamp_ns; });
  DatasetBuilder builder(set.names(), kColumns);
  Moments moments(set.size());
  for (const size_t i : order) {
    builder.Append(MakeRow(rows[i], matrix, i, set.size()));
    moments.Add(matrix.state.data() + i * set.size());
  }
  builder.set_sidecar(set.ToJson(moments.mean(), moments.sd()));
  builder.set_source(source);
  return std::move(builder).Build();
}

PreprocessReport Preprocess(const std::vector<std::string>& recordings, const FeatureSet& set,
                            const std::string& folder, const ReadOptions& options) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw Error(ErrorCode::kFile, fmt::format("{}: cannot make the folder: {}; check the path",
                                              folder, failed.message()));
  }
  PreprocessReport report;
  SplitFiles files(folder);
  Moments moments(set.size());
  for (const std::string& path : recordings) {
    PreprocessOne(path, set, options, files, moments, report);
  }
  if (report.train == 0) report.warnings.emplace_back("no training row: too short a recording");
  AtomicFile sidecar(folder + "/features.json");
  sidecar.Write(set.ToJson(moments.mean(), moments.sd()));
  sidecar.Stage();
  files.train.Stage();
  files.validation.Stage();
  files.test.Stage();
  sidecar.Commit();
  files.train.Commit();
  files.validation.Commit();
  files.test.Commit();
  return report;
}

}  // namespace kernelx
