// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/evaluate/profile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <string_view>

#include "kernelx/policy/rules.h"

namespace kernelx {
namespace {

constexpr size_t kBins = 12;
constexpr size_t kHistogramBins = 21;
constexpr std::string_view kShown[] = {"wake_irregularity", "timer_share",     "irq_share",
                                       "task_share",        "cpu_since_sleep", "burst_ema",
                                       "wait_ema",          "runnable"};

KindAction Summarise(std::string kind, const std::vector<double>& actions) {
  KindAction out{.kind = std::move(kind), .rows = actions.size()};
  if (actions.empty()) return out;
  const auto n = static_cast<double>(actions.size());
  out.mean = std::accumulate(actions.begin(), actions.end(), 0.0) / n;
  double squares = 0.0;
  for (const double a : actions) squares += (a - out.mean) * (a - out.mean);
  out.sd = std::sqrt(squares / n);
  return out;
}

/// Kinds of task, told by what a policy can see.
class Kinds {
 public:
  explicit Kinds(const Dataset& data)
      : irregularity_(FindColumn(data.feature_names(), "wake_irregularity")),
        timer_(FindColumn(data.feature_names(), "timer_share")),
        irq_(FindColumn(data.feature_names(), "irq_share")),
        task_(FindColumn(data.feature_names(), "task_share")),
        cpu_(FindColumn(data.feature_names(), "cpu_since_sleep")) {}

  [[nodiscard]] bool known() const {
    return std::min({irregularity_, timer_, irq_, task_, cpu_}) >= 0;
  }
  static constexpr std::string_view kNames[] = {
      "wakes regularly or by timer", "past 50 ms of CPU since sleep",
      "woken by the network or disk", "woken by other tasks", "the rest"};

  [[nodiscard]] size_t Of(std::span<const double> state) const {
    const auto at = [&](int column) { return state[static_cast<size_t>(column)]; };
    if (at(cpu_) > std::log1p(kHogAboveUs)) return 1;
    if (at(timer_) > kTimerWokenAbove || at(irregularity_) < kRegularBelow) return 0;
    if (at(irq_) > at(task_) && at(irq_) > 0.25) return 2;
    if (at(task_) > 0.25) return 3;
    return 4;
  }

 private:
  int irregularity_, timer_, irq_, task_, cpu_;
};

FeatureCurve Curve(const Dataset& data, std::span<const uint32_t> rows,
                   const std::vector<double>& action, std::string_view feature, int column) {
  FeatureCurve curve{.feature = std::string(feature), .at = {}, .mean = {}};
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto value = [&](size_t i) { return data.state(rows[i])[static_cast<size_t>(column)]; };
  std::ranges::stable_sort(order, {}, value);
  for (size_t bin = 0; bin < kBins; ++bin) {
    const size_t begin = order.size() * bin / kBins;
    const size_t end = order.size() * (bin + 1) / kBins;
    if (begin == end) continue;
    double at = 0.0;
    double mean = 0.0;
    for (size_t i = begin; i < end; ++i) at += value(order[i]), mean += action[order[i]];
    curve.at.push_back(at / static_cast<double>(end - begin));
    curve.mean.push_back(mean / static_cast<double>(end - begin));
  }
  return curve;
}

}  // namespace

ActionProfile Profile(const Policy& policy, const Dataset& data, std::span<const uint32_t> rows) {
  ActionProfile profile;
  profile.histogram.assign(kHistogramBins, 0);
  std::vector<double> action;
  action.reserve(rows.size());
  const Kinds kinds(data);
  std::vector<std::vector<double>> by_kind(std::size(Kinds::kNames));
  std::map<std::string, std::vector<double>> by_command;
  for (const uint32_t row : rows) {
    const double a = policy.Law(data.state(row)).Median();
    action.push_back(a);
    const auto bin = static_cast<size_t>((a + 1.0) / 2.0 * kHistogramBins);
    ++profile.histogram[std::min(bin, kHistogramBins - 1)];
    if (kinds.known()) by_kind[kinds.Of(data.state(row))].push_back(a);
    if (data.has(Column::kComm)) by_command[data.comm_names()[data.comm()[row]]].push_back(a);
  }
  if (kinds.known()) {
    for (size_t kind = 0; kind < by_kind.size(); ++kind) {
      profile.by_kind.push_back(Summarise(std::string(Kinds::kNames[kind]), by_kind[kind]));
    }
  }
  for (const auto& [command, actions] : by_command) {
    profile.by_command.push_back(Summarise(command, actions));
  }
  std::ranges::stable_sort(profile.by_command, std::greater{}, &KindAction::rows);
  for (const std::string_view feature : kShown) {
    const int column = FindColumn(data.feature_names(), feature);
    if (column >= 0) profile.by_feature.push_back(Curve(data, rows, action, feature, column));
  }
  return profile;
}

}  // namespace kernelx
