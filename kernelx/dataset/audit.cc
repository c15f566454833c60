// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/audit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

/// The set of 64-bit words seen, up to `kMostDistinct` of them.
class DistinctWords {
 public:
  void Add(uint64_t word) {
    if (word == last_ && count_ > 0) return;
    last_ = word;
    if (word == 0) {
      count_ += std::exchange(has_zero_, true) ? 0 : 1;
      return;
    }
    if (!exact_) return;
    size_t at = Slot(word);
    while (table_[at] != 0 && table_[at] != word) at = (at + 1) & (table_.size() - 1);
    if (table_[at] == word) return;
    if (count_ == kMostDistinct) {
      exact_ = false;
      return;
    }
    table_[at] = word;
    if (2 * ++count_ > table_.size()) Grow();
  }
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] bool exact() const { return exact_; }

 private:
  [[nodiscard]] size_t Slot(uint64_t word) const {
    return (word * 0x9E3779B97F4A7C15) >> (64 - std::countr_zero(table_.size()));
  }
  void Grow() {
    std::vector<uint64_t> old(2 * table_.size());
    old.swap(table_);
    for (const uint64_t word : old) {
      if (word == 0) continue;
      size_t at = Slot(word);
      while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
      table_[at] = word;
    }
  }

  std::vector<uint64_t> table_ = std::vector<uint64_t>(64);  // 0 is an empty place
  uint64_t count_ = 0;
  uint64_t last_ = 0;
  bool has_zero_ = false;
  bool exact_ = true;
};

/// Running moments of one feature.
template <typename Value>
class FeatureCounter {
 public:
  /// `rows` counts this value.
  void Add(Value value, double one_over_rows) {
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    zeros_ += value == Value{} ? 1 : 0;
    const auto number = static_cast<double>(value);
    const double off = number - mean_;
    mean_ += off * one_over_rows;
    squares_ += off * (number - mean_);
    if constexpr (std::is_same_v<Value, double>) {
      distinct_.Add(std::bit_cast<uint64_t>(value + 0.0));  // one zero
    } else {
      distinct_.Add(value);
    }
  }
  [[nodiscard]] FeatureAudit Result(std::string name, uint64_t rows) const {
    FeatureAudit audit{.name = std::move(name),
                       .min = static_cast<double>(min_),
                       .max = static_cast<double>(max_),
                       .mean = mean_,
                       .sd = std::sqrt(squares_ / static_cast<double>(rows)),
                       .exact_min = {},
                       .exact_max = {},
                       .zeros = zeros_,
                       .distinct = distinct_.count(),
                       .distinct_exact = distinct_.exact()};
    if constexpr (!std::is_same_v<Value, double>) {
      audit.exact_min = min_;
      audit.exact_max = max_;
    }
    return audit;
  }

 private:
  Value min_ = std::numeric_limits<Value>::max();
  Value max_ = std::numeric_limits<Value>::lowest();
  double mean_ = 0.0;
  double squares_ = 0.0;
  uint64_t zeros_ = 0;
  DistinctWords distinct_;
};

/// What the counts need of a row of either form.
struct AuditRow {
  int32_t pid = 0;
  uint64_t start_ns = 0;
  uint64_t timestamp_ns = 0;
  uint64_t next_timestamp_ns = 0;
  uint64_t exec_ns = 0;  ///< 0 in both where only the difference is known
  uint64_t next_exec_ns = 0;
  bool counter_reset = false;
  double action = 0.0;
  const Behavior* behavior = nullptr;
  const Applied* applied = nullptr;
  std::string_view comm;
};

/// Counts rows in file order.
class RowCounter {
 public:
  RowCounter(Audit& audit, bool knows_ends) : audit_(audit), knows_ends_(knows_ends) {}

  void Add(const AuditRow& row) {
    ++audit_.rows;
    CountTime(row);
    CountAction(row.action);
    CountTask(row);
    if (row.behavior != nullptr && row.behavior->known) {
      ++audit_.behavior_known;
      windows_.insert(row.behavior->window);
      if (row.behavior->drawn) {
        ++audit_.draws;
        audit_.group_draws += row.behavior->mode == DrawMode::kGroup ? 1 : 0;
        audit_.draws_in_force += row.applied != nullptr && row.applied->in_force ? 1 : 0;
      }
    }
    audit_.applied_known += row.applied != nullptr && row.applied->known ? 1 : 0;
  }

  void Finish() {
    audit_.tasks = tasks_.size();
    audit_.pids = starts_.size();
    for (const auto& [pid, start] : starts_) audit_.reused_pids += start.reused ? 1 : 0;
    if (knows_ends_) audit_.gaps = gaps_;
    audit_.windows = windows_.size();
    for (auto& [name, comm] : comms_) {
      comm.name = name;
      if (!name.empty() || comms_.size() > 1) audit_.comms.push_back(comm);
    }
    std::sort(audit_.comms.begin(), audit_.comms.end(), [](const auto& a, const auto& b) {
      return a.rows != b.rows ? a.rows > b.rows : a.name < b.name;
    });
  }

 private:
  struct TaskKey {
    int32_t pid;
    uint64_t start_ns;
    friend bool operator==(const TaskKey&, const TaskKey&) = default;
  };
  struct TaskKeyHash {
    size_t operator()(const TaskKey& key) const {
      return MixSeed(key.start_ns, static_cast<uint64_t>(key.pid));
    }
  };
  struct Task {
    uint64_t end_ns = 0;
    uint64_t exec_ns = 0;
  };
  struct Start {
    uint64_t start_ns = 0;
    bool reused = false;
  };

  void CountTime(const AuditRow& row) {
    const uint64_t end = knows_ends_ ? row.next_timestamp_ns : row.timestamp_ns;
    if (audit_.rows == 1) {
      audit_.first_ns = row.timestamp_ns;
    } else {
      audit_.equal_times += row.timestamp_ns == before_ns_ ? 1 : 0;
      audit_.backward_times += row.timestamp_ns < before_ns_ ? 1 : 0;
    }
    before_ns_ = row.timestamp_ns;
    audit_.first_ns = std::min(audit_.first_ns, row.timestamp_ns);
    audit_.last_ns = std::max({audit_.last_ns, row.timestamp_ns, end});
    audit_.backward_pairs += end < row.timestamp_ns ? 1 : 0;
  }

  void CountAction(double action) {
    audit_.zero_actions += action == 0.0 ? 1 : 0;
    if (action < -1.0) {
      ++audit_.actions_below;
    } else if (action > 1.0) {
      ++audit_.actions_above;
    } else {
      const auto bin = static_cast<size_t>((action + 1.0) / 2.0 * kActionBins);
      ++audit_.action_bins[std::min(bin, kActionBins - 1)];
    }
  }

  void CountTask(const AuditRow& row) {
    const auto [task, is_new] = tasks_.try_emplace({row.pid, row.start_ns});
    const bool reset = row.counter_reset || row.next_exec_ns < row.exec_ns ||
                       (!is_new && row.exec_ns < task->second.exec_ns);
    audit_.counter_resets += reset ? 1 : 0;
    gaps_ += !is_new && row.timestamp_ns != task->second.end_ns ? 1 : 0;
    task->second = {row.next_timestamp_ns, row.next_exec_ns};
    const auto [start, first_pid] = starts_.try_emplace(row.pid, Start{row.start_ns, false});
    if (!first_pid && start->second.start_ns != row.start_ns) start->second.reused = true;
    CommAudit& comm = CommOf(row.comm);
    ++comm.rows;
    comm.tasks += is_new ? 1 : 0;
    comm.draws += row.behavior != nullptr && row.behavior->drawn ? 1 : 0;
  }

  CommAudit& CommOf(std::string_view name) {
    if (last_comm_ == nullptr || last_comm_->first != name) {
      last_comm_ = &*comms_.try_emplace(std::string(name)).first;
    }
    return last_comm_->second;
  }

  Audit& audit_;
  bool knows_ends_;
  uint64_t before_ns_ = 0;
  uint64_t gaps_ = 0;
  std::unordered_map<TaskKey, Task, TaskKeyHash> tasks_;
  std::unordered_map<int32_t, Start> starts_;
  std::unordered_map<std::string, CommAudit> comms_;
  std::pair<const std::string, CommAudit>* last_comm_ = nullptr;
  std::unordered_set<uint32_t> windows_;
};

void AuditRaw(const ReadOptions& options, Audit& audit) {
  RowCounter counter(audit, true);
  std::array<FeatureCounter<uint64_t>, kRawFeatures> features;
  uint64_t comm_rows = 0;
  const auto take = [&](std::span<RawTransition> rows) {
    for (const RawTransition& row : rows) {
      const auto& now = row.state.features;
      const auto& next = row.next.features;
      counter.Add({.pid = row.state.pid,
                   .start_ns = now[kSlotStartNs],
                   .timestamp_ns = row.state.timestamp_ns,
                   .next_timestamp_ns = row.next.timestamp_ns,
                   .exec_ns = now[kSlotExecNs],
                   .next_exec_ns = next[kSlotExecNs],
                   .action = row.action,
                   .behavior = &row.behavior,
                   .applied = &row.applied,
                   .comm = row.comm});
      comm_rows += row.comm.empty() ? 0 : 1;
      audit.mixed_pairs += row.state.pid != row.next.pid ? 1 : 0;
      const auto reward = static_cast<int64_t>(now[kSlotWaitUs] - next[kSlotWaitUs]);
      audit.reward_mismatches += row.reward != reward ? 1 : 0;
      const double one_over_rows = 1.0 / static_cast<double>(audit.rows);
      for (int slot = 0; slot < kRawFeatures; ++slot) features[slot].Add(now[slot], one_over_rows);
    }
  };
  ReadRawChunks(audit.path, options, take, &audit.read);
  counter.Finish();
  for (int slot = 0; slot < kRawFeatures; ++slot) {
    audit.features.push_back(features[slot].Result(RawSlotNames()[slot], audit.rows));
  }
  if (audit.behavior_known > 0) audit.optional_columns.emplace_back("behavior");
  if (audit.applied_known > 0) audit.optional_columns.emplace_back("applied");
  if (comm_rows > 0) audit.optional_columns.emplace_back("comm");
}

void AuditProcessed(const ReadOptions& options, Audit& audit) {
  const Dataset data = LoadDataset(audit.path, options, &audit.read);
  RowCounter counter(audit, data.has(Column::kNextTimestamp));
  std::vector<FeatureCounter<double>> features(data.feature_count());
  const auto at = [](const auto& column, size_t i) {
    return column.empty() ? std::remove_cvref_t<decltype(column[0])>{} : column[i];
  };
  for (size_t i = 0; i < data.size(); ++i) {
    counter.Add(
        {.pid = data.pid()[i],
         .start_ns = at(data.start_ns(), i),
         .timestamp_ns = data.timestamp_ns()[i],
         .next_timestamp_ns = at(data.next_timestamp_ns(), i),
         .counter_reset = static_cast<int64_t>(at(data.delta(), i).exec_ns) < 0,
         .action = data.action()[i],
         .behavior = data.behavior().empty() ? nullptr : &data.behavior()[i],
         .applied = data.applied().empty() ? nullptr : &data.applied()[i],
         .comm = data.comm().empty() ? std::string_view{} : data.comm_names()[data.comm()[i]]});
    const auto state = data.state(i);
    const double one_over_rows = 1.0 / static_cast<double>(audit.rows);
    for (size_t f = 0; f < state.size(); ++f) features[f].Add(state[f], one_over_rows);
  }
  counter.Finish();
  for (size_t f = 0; f < features.size(); ++f) {
    audit.features.push_back(features[f].Result(data.feature_names()[f], audit.rows));
  }
  for (const auto& [column, name] :
       {std::pair{Column::kNextTimestamp, "next_timestamp"}, std::pair{Column::kStart, "start"},
        std::pair{Column::kDelta, "delta"}, std::pair{Column::kBehavior, "behavior"},
        std::pair{Column::kApplied, "applied"}, std::pair{Column::kComm, "comm"}}) {
    if (data.has(column)) audit.optional_columns.emplace_back(name);
  }
}

}  // namespace

Audit AuditFile(const std::string& path, const ReadOptions& options) {
  Audit audit;
  audit.path = path;
  audit.form = DetectForm(path);
  if (audit.form == FileForm::kRaw) {
    AuditRaw(options, audit);
  } else {
    AuditProcessed(options, audit);
  }
  return audit;
}

const std::array<std::string, kRawFeatures>& RawSlotNames() {
  static const std::array<std::string, kRawFeatures> names = {
      "cpu",       "prio",      "sprio",       "nprio",        "exec_ns",   "vrt",
      "migr",      "cpus",      "runnable",    "woken_by",     "waker_pid", "sleep_us",
      "csw",       "voluntary", "involuntary", "slice_ns",     "util_avg",  "prev_prio",
      "preempted", "tgid",      "wake_cpu_ns", "runnable_avg", "start_ns",  "wt_us"};
  return names;
}

}  // namespace kernelx
