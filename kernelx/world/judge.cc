// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/world/judge.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "kernelx/env/dynamics.h"
#include "kernelx/env/outcome.h"
#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"
#include "kernelx/nn/eigen.h"
#include "kernelx/world/baselines.h"
#include "kernelx/world/fit.h"
#include "kernelx/world/world_dynamics.h"

namespace kernelx {
namespace {

constexpr double kCellActions[] = {-0.8, -0.4, 0.0, 0.4, 0.8};
constexpr double kCellReach = 0.2;
constexpr int kShareHold = 5;
constexpr size_t kKindRows = 100;  // draws that a command needs to be shown

/// Mean with its interval: the sums of the tasks are what varies.
Measured TaskMean(std::span<const double> values, std::span<const uint64_t> tasks) {
  Measured out;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) out.value += v / n;
  std::map<uint64_t, double> score;
  for (size_t i = 0; i < values.size(); ++i) score[tasks[i]] += values[i] - out.value;
  double meat = 0.0;
  for (const auto& [task, s] : score) meat += s * s;
  const auto g = static_cast<double>(score.size());
  const double error = g > 1.0 ? std::sqrt(meat * g / (g - 1.0)) / n : INFINITY;
  out.low = out.value - 1.96 * error;
  out.high = out.value + 1.96 * error;
  return out;
}

Measured TaskSlope(std::span<const double> x, std::span<const double> y,
                   std::span<const uint64_t> tasks) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double var = 0.0, cov = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    var += (x[i] - mean_x) * (x[i] - mean_x);
    cov += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (var <= 0.0) return {.value = 0.0, .low = -INFINITY, .high = INFINITY};
  Measured out{.value = cov / var};
  std::map<uint64_t, double> score;
  for (size_t i = 0; i < x.size(); ++i) {
    score[tasks[i]] += (x[i] - mean_x) * (y[i] - mean_y - out.value * (x[i] - mean_x));
  }
  double meat = 0.0;
  for (const auto& [task, s] : score) meat += s * s;
  const auto g = static_cast<double>(score.size());
  const double error = g > 1.0 ? std::sqrt(meat * g / (g - 1.0)) / var : INFINITY;
  out.low = out.value - 1.96 * error;
  out.high = out.value + 1.96 * error;
  return out;
}

std::vector<uint32_t> ByLot(std::vector<uint32_t> rows, size_t count, uint64_t seed) {
  Rng rng(seed, 5);
  count = std::min(count, rows.size());
  for (size_t i = 0; i < count; ++i) std::swap(rows[i], rows[i + rng.Below(rows.size() - i)]);
  rows.resize(count);
  std::ranges::sort(rows);
  return rows;
}

/// Mean of ln(1 + wait) over each task's events before a row, rows of `first` then of `second`;
/// the mean of all where there is none.
struct TaskMeans {
  std::unordered_map<uint64_t, std::pair<double, double>> sums;  // sum, count
  std::pair<double, double> everything{0.0, 0.0};

  std::vector<double> Over(const Dataset& data) {
    std::vector<uint32_t> order(data.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](uint32_t row) { return data.timestamp_ns()[row]; });
    std::vector<double> means(data.size());
    for (const uint32_t row : order) {
      auto& mine = sums[TaskKey(data, row)];
      const auto& from = mine.second > 0.0 ? mine : everything;
      means[row] = from.second > 0.0 ? from.first / from.second : 0.0;
      const double y = std::log1p(static_cast<double>(data.delta()[row].next_wait_us));
      for (auto* sum : {&mine, &everything}) sum->first += y, sum->second += 1.0;
    }
    return means;
  }
};

/// The ensemble's law: the mean of its members'.
std::vector<WaitLaw> WorldLaws(const WorldModel& model, const FitData& data, unsigned threads) {
  std::array<double, kWaitBins> nothing{};
  nothing[0] = 1.0;
  std::vector<WaitLaw> laws(data.size(), WaitLaw(nothing));
  ParallelFor(data.size(), threads, [&](size_t begin, size_t end) {
    WorldBlock block(model.members.front());
    for (size_t at = begin; at < end; at += WorldBlock::kColumns) {
      const size_t count = std::min(WorldBlock::kColumns, end - at);
      std::vector<std::array<double, kWaitBins>> mean(count, std::array<double, kWaitBins>{});
      for (size_t c = 0; c < count; ++c) {
        block.Set(c, data.input(at + c), data.previous_action[at + c], data.action[at + c]);
      }
      for (const WorldMember& member : model.members) {
        block.Forward(member, count);
        for (size_t c = 0; c < count; ++c) {
          std::array<double, kWaitBins> p;
          WaitProbabilities(block.out(c), std::span<double, kWaitBins>(p));
          for (size_t k = 0; k < kWaitBins; ++k) {
            mean[c][k] += p[k] / static_cast<double>(model.members.size());
          }
        }
      }
      for (size_t c = 0; c < count; ++c) laws[at + c] = WaitLaw(mean[c]);
    }
  });
  return laws;
}

/// Scores of the laws of some entries.
struct Scores {
  std::vector<double> nll, crps, error;
};

Scores ScoreLaws(const std::vector<WaitLaw>& laws, std::span<const double> wait_us,
                 std::span<const uint32_t> entries) {
  Scores scores;
  for (const uint32_t i : entries) {
    scores.nll.push_back(laws[i].LogLoss(wait_us[i]));
    scores.crps.push_back(laws[i].Crps(wait_us[i]));
    scores.error.push_back(std::abs(laws[i].Quantile(0.5) - std::log1p(wait_us[i])));
  }
  return scores;
}

double MeanOf(const std::vector<double>& v) {
  return v.empty() ? 0.0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

Measured Gain(const std::vector<double>& theirs, const std::vector<double>& ours,
              std::span<const uint64_t> tasks) {
  std::vector<double> difference(ours.size());
  std::ranges::transform(theirs, ours, difference.begin(), std::minus{});
  return TaskMean(difference, tasks);
}

/// Coverage and the table over some entries.
PredictionReport Table(const std::string& name, const std::vector<WaitLaw>& world,
                       const std::vector<Baseline>& baselines, const FitData& data,
                       std::span<const double> wait_us, const std::vector<uint32_t>& entries) {
  PredictionReport report{.rows_name = name, .rows = entries.size()};
  if (entries.empty()) return report;
  std::vector<uint64_t> tasks;
  for (const uint32_t i : entries) tasks.push_back(data.task[i]);
  report.tasks = std::set(tasks.begin(), tasks.end()).size();
  const Scores ours = ScoreLaws(world, wait_us, entries);
  const auto add = [&](const std::string& who, const Scores& s) {
    report.scores.push_back({.name = who,
                             .nll = MeanOf(s.nll),
                             .crps = MeanOf(s.crps),
                             .mae = MeanOf(s.error),
                             .nll_gain = Gain(s.nll, ours.nll, tasks),
                             .crps_gain = Gain(s.crps, ours.crps, tasks)});
  };
  add("World Model", ours);
  for (const Baseline& b : baselines) add(b.name, ScoreLaws(b.laws, wait_us, entries));
  const auto coverage = [&](double part) {
    std::vector<double> in;
    for (const uint32_t i : entries) {
      const double y = std::log1p(wait_us[i]);
      in.push_back(y >= world[i].Quantile(0.5 - part / 2) && y <= world[i].Quantile(0.5 + part / 2)
                       ? 1.0
                       : 0.0);
    }
    return TaskMean(in, tasks);
  };
  report.cover50 = coverage(0.5);
  report.cover80 = coverage(0.8);
  report.cover95 = coverage(0.95);
  for (const uint32_t i : entries) {
    if (std::log1p(wait_us[i]) > world[i].Quantile(0.99)) report.p99_exceeded += 1.0;
  }
  report.p99_exceeded /= static_cast<double>(entries.size());
  return report;
}

void Predict(const WorldModel& model, const Dataset& train, const Dataset& judged,
             const EventFeatures& features, const JudgeOptions& options, WorldReport& report) {
  TaskMeans means;
  const std::vector<double> train_means = means.Over(train);
  const std::vector<double> judged_means = means.Over(judged);
  const auto side = [&](const Dataset& data, const std::vector<double>& all_means, size_t count,
                        FitData& fit, std::vector<double>& mean, std::vector<double>& wait_us,
                        std::vector<double>& now) {
    const auto rows = ByLot(UsableRows(data), count, options.seed);
    fit = FitData::Of(data, features, model, rows, options.threads);
    for (const uint32_t row : rows) {
      mean.push_back(all_means[row]);
      wait_us.push_back(static_cast<double>(data.delta()[row].next_wait_us));
      now.push_back(std::log1p(static_cast<double>(data.delta()[row].wait_us)));
    }
  };
  FitData fit_train, fit_judged;
  std::vector<double> mean_t, wait_t, now_t, mean_j, wait_j, now_j;
  side(train, train_means, options.baseline_rows, fit_train, mean_t, wait_t, now_t);
  side(judged, judged_means, options.judged_rows, fit_judged, mean_j, wait_j, now_j);
  const auto baselines = FitBaselines(fit_train, mean_t, wait_t, fit_judged, mean_j, wait_j, now_t,
                                      now_j, options.threads);
  const auto world = WorldLaws(model, fit_judged, options.threads);
  std::set<uint64_t> seen;
  for (uint32_t row = 0; row < train.size(); ++row) seen.insert(TaskKey(train, row));
  std::vector<uint32_t> all(fit_judged.size()), unseen;
  std::iota(all.begin(), all.end(), 0U);
  std::ranges::copy_if(all, std::back_inserter(unseen),
                       [&](uint32_t i) { return !seen.contains(fit_judged.task[i]); });
  report.prediction.push_back(Table("all", world, baselines, fit_judged, wait_j, all));
  report.prediction.push_back(Table("unseen tasks", world, baselines, fit_judged, wait_j, unseen));
}

/// Makes the dynamics report an outcome.
class Probe : public Reward {
 public:
  explicit Probe(bool share) : share_(share) {}
  std::string_view name() const override { return "outcome"; }
  std::span<const std::string_view> terms() const override {
    static constexpr std::string_view kNames[] = {"outcome"};
    return kNames;
  }
  size_t outcome_terms() const override { return 1; }
  void FromOutcome(const Outcome& o, double* terms) const override {
    terms[0] = share_ ? std::log((o.exec_us + 20.0) / (o.dt_us + 100.0)) : o.log_wait;
  }
  void FromAction(double, double, double*) const override {}

 private:
  bool share_;
};

/// What the model expects after each row, under the row's own action.
std::vector<double> Expect(const Dynamics& dynamics, const Dataset& data,
                           std::span<const uint32_t> rows, unsigned threads) {
  const size_t width = data.feature_count();
  std::vector<double> out(rows.size());
  ParallelFor(rows.size(), threads, [&](size_t begin, size_t end) {
    std::vector<double> next(width);
    for (size_t i = begin; i < end; ++i) {
      const double action = std::clamp(data.action()[rows[i]], -1.0, 1.0);
      const uint64_t noise = MixSeed(rows[i], 3);
      uint32_t next_row = kNoRow;
      dynamics.Advance({.n = 1,
                        .state = data.state(rows[i]).data(),
                        .action = &action,
                        .row = &rows[i],
                        .noise = &noise,
                        .next_state = next.data(),
                        .next_row = &next_row,
                        .terms = &out[i]});
    }
  });
  return out;
}

EffectReport Effects(const std::string& outcome, const WorldModel& model, const Dataset& data,
                     const Trajectories& trajectories, bool share, unsigned threads) {
  const Probe probe(share);
  const int hold = share ? kShareHold : 1;
  std::vector<uint32_t> rows;
  for (const uint32_t row : RandomisedRows(data)) {
    if (trajectories.remaining(row) >= static_cast<uint32_t>(hold)) rows.push_back(row);
  }
  const WorldDynamics dynamics(model, {},
                               {.dataset = data,
                                .trajectories = trajectories,
                                .reward = probe,
                                .hold = hold,
                                .threads = threads});
  const auto expected = Expect(dynamics, data, rows, threads);
  std::map<std::string, std::vector<size_t>> kinds;
  std::vector<double> action, actual(rows.size());
  std::vector<uint64_t> task;
  for (size_t i = 0; i < rows.size(); ++i) {
    action.push_back(data.action()[rows[i]]);
    task.push_back(TaskKey(data, rows[i]));
    probe.FromOutcome(OutcomeAt(data, trajectories, rows[i], hold), &actual[i]);
    kinds[""].push_back(i);
    if (data.has(Column::kComm)) kinds[data.comm_names()[data.comm()[rows[i]]]].push_back(i);
  }
  EffectReport report{.outcome = outcome};
  for (const auto& [comm, members] : kinds) {
    if (members.size() < kKindRows) continue;
    const auto pick = [&](const auto& from, double centre, double reach) {
      std::decay_t<decltype(from)> out;
      for (const size_t i : members) {
        if (std::abs(action[i] - centre) <= reach) out.push_back(from[i]);
      }
      return out;
    };
    const auto a = pick(action, 0.0, 2.0);
    const auto t = pick(task, 0.0, 2.0);
    const size_t tasks = std::set(t.begin(), t.end()).size();
    const std::string name = comm.empty() ? "(all)" : comm;
    report.slopes.push_back({.comm = name,
                             .rows = members.size(),
                             .tasks = tasks,
                             .model = TaskSlope(a, pick(expected, 0.0, 2.0), t).value,
                             .data = TaskSlope(a, pick(actual, 0.0, 2.0), t)});
    for (const double centre : kCellActions) {
      const auto cell_tasks = pick(task, centre, kCellReach);
      if (cell_tasks.size() < 2) continue;
      report.cells.push_back({.comm = name,
                              .action = centre,
                              .rows = cell_tasks.size(),
                              .tasks = std::set(cell_tasks.begin(), cell_tasks.end()).size(),
                              .model = MeanOf(pick(expected, centre, kCellReach)),
                              .data = TaskMean(pick(actual, centre, kCellReach), cell_tasks)});
    }
  }
  return report;
}

EffectSlope Placebo(const Dataset& data) {
  std::vector<double> action, before;
  std::vector<uint64_t> task;
  for (const uint32_t row : RandomisedRows(data)) {
    action.push_back(data.action()[row]);
    before.push_back(std::log1p(static_cast<double>(data.delta()[row].wait_us)));
    task.push_back(TaskKey(data, row));
  }
  EffectSlope placebo{.comm = "(all)", .rows = action.size()};
  if (action.empty()) return placebo;
  placebo.tasks = std::set(task.begin(), task.end()).size();
  placebo.data = TaskSlope(action, before, task);
  return placebo;
}

}  // namespace

WorldReport JudgeWorld(const WorldModel& model, const Dataset& train, const Dataset& judged,
                       const JudgeOptions& options) {
  const EventFeatures features(judged.feature_names(), judged.source());
  WorldReport report;
  Predict(model, train, judged, features, options, report);
  if (judged.has(Column::kBehavior)) {
    const Trajectories trajectories(judged, Order::kTask);
    report.effects.push_back(
        Effects("ln(1 + wait us)", model, judged, trajectories, false, options.threads));
    report.effects.push_back(
        Effects("ln CPU share over 5", model, judged, trajectories, true, options.threads));
    report.placebo = Placebo(judged);
  }
  return report;
}

ForwardRate MeasureForward(const WorldModel& model) {
  using Matrix = Eigen::MatrixXf;
  using Clock = std::chrono::steady_clock;
  constexpr size_t kColumns = WorldBlock::kColumns;
  constexpr int kRepeats = 200;
  constexpr int kTries = 10;
  const WorldMember& member = model.members.front();
  WorldBlock block(member);
  const std::vector<float> inputs(EventFeatures::kInputs, 0.3F);
  for (size_t c = 0; c < kColumns; ++c) block.Set(c, inputs, 0.1, 0.2);
  std::vector<std::pair<Matrix, Matrix>> operands;
  std::vector<Matrix> results;
  double operations = 0.0;
  for (const Mlp<float>* net : {&member.base, &member.effect}) {
    for (const auto& layer : net->layers()) {
      const auto in = static_cast<Eigen::Index>(layer.inputs);
      const auto out = static_cast<Eigen::Index>(layer.outputs);
      operands.emplace_back(Matrix::Random(out, in), Matrix::Random(in, kColumns));
      results.emplace_back(out, static_cast<Eigen::Index>(kColumns));
      operations += 2.0 * static_cast<double>(layer.inputs * layer.outputs * kColumns);
    }
  }
  ForwardRate rate;
  const auto best = [&](double& into, const auto& work) {
    for (int t = 0; t < kTries; ++t) {
      const auto begun = Clock::now();
      for (int r = 0; r < kRepeats; ++r) work();
      const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
      into = std::max(into, operations * kRepeats / seconds / 1e9);
    }
  };
  best(rate.ours, [&] { block.Forward(member, kColumns); });
  best(rate.sgemm, [&] {
    for (size_t i = 0; i < operands.size(); ++i) {
      results[i].noalias() = operands[i].first * operands[i].second;
    }
  });
  return rate;
}

}  // namespace kernelx
