// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/certificate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <tuple>

#include "kernelx/env/decision_table.h"
#include "kernelx/env/dynamics.h"
#include "kernelx/env/outcome.h"
#include "kernelx/env/reward.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

constexpr double kProbe = 0.8;  // the two actions compared are -kProbe and +kProbe
constexpr double kAlpha = 0.01;
constexpr size_t kOutcomes = 3;
constexpr std::string_view kOutcomeNames[kOutcomes] = {"wait", "exec", "next_event"};
constexpr size_t kMinimumGroupRows = 200;

/// Not a reward: makes a dynamics report outcomes in place of reward terms.
class OutcomeProbe : public Reward {
 public:
  std::string_view name() const override { return "outcomes"; }
  std::span<const std::string_view> terms() const override { return kOutcomeNames; }
  size_t outcome_terms() const override { return kOutcomes; }
  void FromOutcome(const Outcome& outcome, double* terms) const override {
    terms[0] = outcome.log_wait;
    terms[1] = std::log1p(outcome.exec_us);
    terms[2] = std::log1p(outcome.dt_us);
  }
  void FromAction(double, double, double*) const override {}
};

/// Everything about the randomised rows, in columns. Rows of a task are adjacent, in time order.
struct Columns {
  std::vector<uint32_t> row;
  std::vector<uint32_t> task;  // 0, 1, ...
  std::vector<double> action;
  std::vector<double> wait_before;
  std::vector<double> outcome[kOutcomes];
  size_t tasks = 0;

  [[nodiscard]] size_t size() const { return row.size(); }
};

Columns Collect(const Dataset& data, const DecisionTable& table) {
  Columns columns;
  columns.row = RandomisedRows(data);
  const auto task_key = [&](uint32_t row) {
    return std::tuple(data.pid()[row], data.has(Column::kStart) ? data.start_ns()[row] : 0);
  };
  std::ranges::sort(columns.row, {}, [&](uint32_t row) {
    return std::tuple_cat(task_key(row), std::tuple(data.timestamp_ns()[row], row));
  });
  for (size_t i = 0; i < columns.size(); ++i) {
    const uint32_t row = columns.row[i];
    if (i > 0 && task_key(row) != task_key(columns.row[i - 1])) ++columns.tasks;
    columns.task.push_back(static_cast<uint32_t>(columns.tasks));
    columns.action.push_back(std::clamp(data.action()[row], -1.0, 1.0));
    columns.wait_before.push_back(std::log1p(static_cast<double>(data.delta()[row].wait_us)));
    for (size_t k = 0; k < kOutcomes; ++k) columns.outcome[k].push_back(table.terms(row)[k]);
  }
  if (columns.size() > 0) ++columns.tasks;
  return columns;
}

/// Blocks of rows that share one assignment of the action: [begin, end) each.
std::vector<std::pair<size_t, size_t>> Blocks(const Columns& columns, bool each_row) {
  std::vector<std::pair<size_t, size_t>> blocks;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool goes_on = !each_row && i > 0 && columns.task[i] == columns.task[i - 1] &&
                         columns.action[i] == columns.action[i - 1];
    if (goes_on) {
      blocks.back().second = i + 1;
    } else {
      blocks.emplace_back(i, i + 1);
    }
  }
  return blocks;
}

/// The actions with the blocks of each task shuffled.
std::vector<double> Permute(const Columns& columns,
                            const std::vector<std::pair<size_t, size_t>>& blocks, Rng rng) {
  std::vector<double> actions(columns.size());
  for (size_t begin = 0; begin < blocks.size();) {
    size_t end = begin;
    while (end < blocks.size() &&
           columns.task[blocks[end].first] == columns.task[blocks[begin].first]) {
      ++end;
    }
    std::vector<size_t> from(end - begin);
    std::iota(from.begin(), from.end(), begin);
    for (size_t i = from.size(); i > 1; --i) std::swap(from[i - 1], from[rng.Below(i)]);
    for (size_t b = begin; b < end; ++b) {
      for (size_t i = blocks[b].first; i < blocks[b].second; ++i) {
        actions[i] = columns.action[blocks[from[b - begin]].first];
      }
    }
    begin = end;
  }
  return actions;
}

struct Slope {
  double value = 0.0;
  double error = 0.0;  // standard error, clustered by task; NaN with one task
};

/// Least squares of y on the action over the entries in `chosen`.
Slope FitSlope(const Columns& columns, std::span<const double> action, std::span<const double> y,
               std::span<const uint32_t> chosen) {
  double mean_a = 0.0;
  double mean_y = 0.0;
  for (const uint32_t i : chosen) mean_a += action[i], mean_y += y[i];
  mean_a /= static_cast<double>(chosen.size());
  mean_y /= static_cast<double>(chosen.size());
  double cov = 0.0;
  double var = 0.0;
  for (const uint32_t i : chosen) {
    cov += (action[i] - mean_a) * (y[i] - mean_y);
    var += (action[i] - mean_a) * (action[i] - mean_a);
  }
  if (var <= 0.0) return {};
  const double slope = cov / var;
  double meat = 0.0;
  double score = 0.0;
  size_t tasks = 0;
  for (size_t j = 0; j < chosen.size(); ++j) {
    const uint32_t i = chosen[j];
    const double a = action[i] - mean_a;
    score += a * (y[i] - mean_y - slope * a);
    const bool last = j + 1 == chosen.size() || columns.task[chosen[j + 1]] != columns.task[i];
    if (last) meat += score * score, score = 0.0, ++tasks;
  }
  // One task has no spread between tasks to tell an error from.
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  return {slope, tasks > 1 ? std::sqrt(meat) / var : unknown};
}

/// Mean change of each outcome per unit of action in a dynamics, over `rows`.
std::vector<double> DynamicsEffect(const Dynamics& dynamics, const Dataset& data,
                                   std::span<const uint32_t> rows, unsigned threads) {
  const size_t width = data.feature_count();
  const size_t n = 2 * rows.size();
  std::vector<double> state(n * width), next(n * width), action(n), terms(n * kOutcomes);
  std::vector<uint32_t> row(n), next_row(n);
  std::vector<uint64_t> noise(n);
  for (size_t i = 0; i < n; ++i) {
    row[i] = rows[i / 2];
    noise[i] = MixSeed(row[i], 0);  // both actions share their luck
    action[i] = i % 2 == 0 ? -kProbe : kProbe;
    std::ranges::copy(data.state(row[i]), state.begin() + static_cast<ptrdiff_t>(i * width));
  }
  ParallelFor(rows.size(), threads, [&](size_t begin, size_t end) {
    const size_t at = 2 * begin;
    dynamics.Advance({.n = 2 * (end - begin),
                      .state = state.data() + at * width,
                      .action = action.data() + at,
                      .row = row.data() + at,
                      .noise = noise.data() + at,
                      .next_state = next.data() + at * width,
                      .next_row = next_row.data() + at,
                      .terms = terms.data() + at * kOutcomes});
  });
  std::vector<double> effect(kOutcomes, 0.0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < kOutcomes; ++k) {
      effect[k] += (i % 2 == 0 ? -1.0 : 1.0) * terms[i * kOutcomes + k];
    }
  }
  for (double& value : effect) value /= 2.0 * kProbe * static_cast<double>(rows.size());
  return effect;
}

/// `count` of the rows, evenly by lot.
std::vector<uint32_t> SampleRows(std::span<const uint32_t> rows, size_t count, uint64_t seed) {
  std::vector<uint32_t> sample(rows.begin(), rows.end());
  Rng rng(seed, 1);
  count = std::min(count, sample.size());
  for (size_t i = 0; i < count; ++i) std::swap(sample[i], sample[i + rng.Below(sample.size() - i)]);
  sample.resize(count);
  return sample;
}

double AbsoluteQuantile95(std::vector<double> values) {
  if (values.empty()) return 0.0;
  for (double& value : values) value = std::abs(value);
  std::ranges::sort(values);
  return values[static_cast<size_t>(0.95 * static_cast<double>(values.size() - 1))];
}

/// (1 + how many are at least as large) / (1 + how many): never zero.
double PermutationP(double observed, const std::vector<double>& null) {
  const auto larger = std::ranges::count_if(
      null, [&](double value) { return std::abs(value) >= std::abs(observed); });
  return (1.0 + static_cast<double>(larger)) / (1.0 + static_cast<double>(null.size()));
}

void SetInterval(const Slope& slope, double& value, double& low, double& high) {
  value = slope.value;
  low = slope.value - 1.96 * slope.error;
  high = slope.value + 1.96 * slope.error;
}

class Check {
 public:
  Check(const Dataset& data, const CertificateOptions& options)
      : data_(data),
        options_(options),
        trajectories_(data, Order::kTask),
        inputs_{.dataset = data,
                .trajectories = trajectories_,
                .reward = probe_,
                .hold = 1,
                .threads = options.threads} {
    inputs_.table = DecisionTable::Of(inputs_);
    columns_ = Collect(data, *inputs_.table);
    everything_.resize(columns_.size());
    std::iota(everything_.begin(), everything_.end(), 0U);
  }

  Certificate Run() {
    Certificate result;
    result.dynamics = options_.dynamics;
    result.rows = columns_.size();
    result.tasks = columns_.tasks;
    result.propensities_known = data_.has(Column::kBehavior);
    if (!Varies()) {
      result.why = result.propensities_known
                       ? "no action was drawn at random; use a recording with drawn actions"
                       : "every action is the same; use a recording with drawn actions";
      return result;
    }
    const auto dynamics = MakeDynamics(options_.dynamics, inputs_);
    const auto sample =
        SampleRows(columns_.row, static_cast<size_t>(options_.states), options_.seed);
    const auto effect = DynamicsEffect(*dynamics, data_, sample, options_.threads);
    DrawNulls(sample);
    for (size_t k = 0; k < kOutcomes; ++k) {
      Effect one{.name = std::string(kOutcomeNames[k]), .effect = effect[k]};
      one.null95 = AbsoluteQuantile95(null_[k]);
      one.p = PermutationP(effect[k], null_[k]);
      SetInterval(FitSlope(columns_, columns_.action, columns_.outcome[k], everything_),
                  one.data_effect, one.data_low, one.data_high);
      one.data_p = PermutationP(one.data_effect, data_null_[k]);
      result.outcomes.push_back(one);
    }
    result.placebo.name = "wait_before";
    result.placebo.null95 = AbsoluteQuantile95(placebo_null_);
    SetInterval(FitSlope(columns_, columns_.action, columns_.wait_before, everything_),
                result.placebo.data_effect, result.placebo.data_low, result.placebo.data_high);
    result.placebo.data_p = PermutationP(result.placebo.data_effect, placebo_null_);
    result.placebo_ok = result.placebo.data_p > kAlpha;
    Groups(*dynamics, result);
    Judge(result);
    return result;
  }

 private:
  bool Varies() const {
    return columns_.size() > 1 && std::ranges::any_of(columns_.action, [&](double a) {
             return a != columns_.action.front();
           });
  }

  void DrawNulls(std::span<const uint32_t> sample) {
    const auto blocks = Blocks(columns_, data_.has(Column::kBehavior));
    const auto count = static_cast<size_t>(options_.permutations);
    placebo_null_.resize(count);
    for (auto& null : null_) null.resize(count);
    for (auto& null : data_null_) null.resize(count);
    ParallelFor(count, options_.threads, [&](size_t begin, size_t end) {
      std::vector<double> by_row(data_.action().begin(), data_.action().end());
      for (size_t draw = begin; draw < end; ++draw) {
        const auto actions = Permute(columns_, blocks, Rng(options_.seed, 2 + draw));
        for (size_t i = 0; i < columns_.size(); ++i) by_row[columns_.row[i]] = actions[i];
        DynamicsInputs permuted = inputs_;
        permuted.actions = by_row;
        permuted.threads = 1;
        const auto dynamics = MakeDynamics(options_.dynamics, permuted);
        const auto effect = DynamicsEffect(*dynamics, data_, sample, 1);
        for (size_t k = 0; k < kOutcomes; ++k) {
          null_[k][draw] = effect[k];
          data_null_[k][draw] = FitSlope(columns_, actions, columns_.outcome[k], everything_).value;
        }
        placebo_null_[draw] = FitSlope(columns_, actions, columns_.wait_before, everything_).value;
      }
    });
  }

  void Groups(const Dynamics& dynamics, Certificate& result) const {
    if (!data_.has(Column::kComm)) return;
    std::map<uint32_t, std::vector<uint32_t>> members;
    for (const uint32_t i : everything_) members[data_.comm()[columns_.row[i]]].push_back(i);
    for (const auto& [comm, entries] : members) {
      if (entries.size() < kMinimumGroupRows) continue;
      GroupEffect group{.comm = data_.comm_names()[comm], .rows = entries.size()};
      SetInterval(FitSlope(columns_, columns_.action, columns_.outcome[0], entries),
                  group.data_effect, group.data_low, group.data_high);
      std::vector<uint32_t> rows;
      for (const uint32_t i : entries) rows.push_back(columns_.row[i]);
      rows = SampleRows(rows, static_cast<size_t>(options_.states), options_.seed);
      group.effect = DynamicsEffect(dynamics, data_, rows, options_.threads)[0];
      result.groups.push_back(std::move(group));
    }
    std::ranges::stable_sort(result.groups, std::greater{}, &GroupEffect::rows);
  }

  static void Judge(Certificate& result) {
    const Effect& wait = result.outcomes.front();
    result.verdict = CertificateVerdict::kActionBlind;
    if (!result.placebo_ok) {
      result.why = fmt::format(
          "the wait before the action already depends on it (slope {:+.2f}, p {:.3f}): these rows "
          "are not randomised",
          result.placebo.data_effect, result.placebo.data_p);
    } else if (wait.data_p > kAlpha) {
      result.why = "the recording shows no effect of the action on the wait";
    } else if (wait.p > kAlpha) {
      result.why = "in this dynamics the action does not move the wait";
    } else if (wait.effect * wait.data_effect <= 0.0) {
      result.why = "the dynamics moves the wait the other way than the recording";
    } else {
      result.verdict = CertificateVerdict::kActs;
      result.why = fmt::format(
          "ln(1 + wait) changes by {:+.2f} per unit of action here, by {:+.2f} in the recording",
          wait.effect, wait.data_effect);
    }
  }

  const Dataset& data_;
  const CertificateOptions& options_;
  OutcomeProbe probe_;
  Trajectories trajectories_;
  DynamicsInputs inputs_;
  Columns columns_;
  std::vector<uint32_t> everything_;
  std::vector<double> null_[kOutcomes], data_null_[kOutcomes], placebo_null_;
};

}  // namespace

std::string_view VerdictName(CertificateVerdict verdict) {
  switch (verdict) {
    case CertificateVerdict::kActs:
      return "acts";
    case CertificateVerdict::kActionBlind:
      return "action-blind";
    case CertificateVerdict::kNoActionVariation:
      break;
  }
  return "no-action-variation";
}

Certificate CheckEnv(const Dataset& dataset, const CertificateOptions& options) {
  constexpr int kFewest = 99;  // with fewer, p cannot come down to kAlpha
  if (options.permutations < kFewest || options.states < 1) {
    throw Error(ErrorCode::kUsage,
                fmt::format("check-env: {} permutations at {} states; use at least {} and 1",
                            options.permutations, options.states, kFewest));
  }
  return Check(dataset, options).Run();
}

}  // namespace kernelx
