// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ab/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "kernelx/ground/error.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

constexpr int kResamples = 4000;
constexpr double kCorrelated = 0.2;
/// For a power of 80 % at a two-sided 5 %: z(0.975) + z(0.8).
constexpr double kPowerFactor = 2.80;

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Sd(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0;
  const double mean = Mean(values);
  double sum = 0.0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double LagOne(const std::vector<double>& values) {
  const double mean = Mean(values);
  double cross = 0.0, own = 0.0;
  for (size_t i = 0; i < values.size(); ++i) {
    own += (values[i] - mean) * (values[i] - mean);
    if (i > 0) cross += (values[i] - mean) * (values[i - 1] - mean);
  }
  return own > 0.0 ? cross / own : 0.0;
}

/// The statistic of resampled blocks, its middle value given, as an interval.
template <typename Statistic>
Interval Resample(size_t blocks, size_t run, uint64_t seed, Statistic&& statistic) {
  std::vector<size_t> all(blocks), picked(blocks);
  std::iota(all.begin(), all.end(), size_t{0});
  Interval interval{.value = statistic(all)};
  Rng rng(seed, 11);
  std::vector<double> values(kResamples);
  for (double& value : values) {
    for (size_t i = 0; i < blocks;) {
      size_t from = rng.Below(blocks);
      for (size_t k = 0; k < run && i < blocks; ++k, ++i) picked[i] = (from + k) % blocks;
    }
    value = statistic(picked);
  }
  std::sort(values.begin(), values.end());
  interval.low = values[static_cast<size_t>(0.025 * kResamples)];
  interval.high = values[static_cast<size_t>(0.975 * kResamples) - 1];
  return interval;
}

Interval Exp(Interval log) {
  return {.value = std::exp(log.value), .low = std::exp(log.low), .high = std::exp(log.high)};
}

/// Windows by arm and block, of the complete blocks.
using Table = std::map<std::string, std::vector<const Window*>>;

Table CompleteBlocks(const std::vector<GroupSpec>& groups, const std::vector<std::string>& arms,
                     const std::vector<Window>& windows) {
  std::map<size_t, std::map<std::string, const Window*>> blocks;
  for (const Window& window : windows) {
    if (window.groups.size() != groups.size()) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("block {} arm {}: {} groups, the experiment has {}", window.block,
                              window.arm, window.groups.size(), groups.size()));
    }
    blocks[window.block][window.arm] = &window;
  }
  Table table;
  size_t complete = 0;
  for (const auto& [number, block] : blocks) {
    const bool whole = std::all_of(arms.begin(), arms.end(),
                                   [&](const std::string& arm) { return block.contains(arm); });
    if (!whole) continue;
    ++complete;
    for (const std::string& arm : arms) table[arm].push_back(block.at(arm));
  }
  if (complete < 2) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} complete blocks; a verdict needs two, a good one forty", complete));
  }
  return table;
}

std::vector<double> LogMetrics(const std::vector<GroupSpec>& groups,
                               const std::vector<const Window*>& windows) {
  std::vector<double> logs;
  for (const Window* window : windows) logs.push_back(LogLatency(groups, *window, 0.99));
  return logs;
}

std::vector<double> Difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> d(a.size());
  for (size_t i = 0; i < a.size(); ++i) d[i] = a[i] - b[i];
  return d;
}

Guard MakeGuard(size_t group, const GroupSpec& spec, bool cpu,
                const std::vector<const Window*>& arm, const std::vector<const Window*>& baseline,
                uint64_t seed) {
  const auto rate = [&](const Window* window) {
    const GroupSample& sample = window->groups[group];
    return static_cast<double>(cpu ? sample.cpu_ns : sample.completions) / window->seconds;
  };
  const auto ratio = [&](const std::vector<size_t>& blocks) {
    double a = 0.0, b = 0.0;
    for (const size_t i : blocks) {
      a += rate(arm[i]);
      b += rate(baseline[i]);
    }
    return b > 0.0 ? a / b : 1.0;
  };
  return {.group = spec.name,
          .what = cpu ? "cpu" : "completions",
          .ratio = Resample(arm.size(), 1, MixSeed(seed, 100 + 2 * group + (cpu ? 1 : 0)), ratio)};
}

/// Quantile of all windows of an arm together.
double Pooled(const std::vector<GroupSpec>& groups, const std::vector<const Window*>& windows,
              double q) {
  Window all;
  all.groups.resize(groups.size());
  for (const Window* window : windows) {
    all.seconds += window->seconds;
    for (size_t g = 0; g < groups.size(); ++g) {
      all.groups[g].latency_us.Add(window->groups[g].latency_us);
    }
  }
  return std::exp(LogLatency(groups, all, q));
}

void Decide(ArmResult& arm) {
  const bool broken = std::any_of(arm.guards.begin(), arm.guards.end(),
                                  [](const Guard& guard) { return guard.broken(); });
  const bool hold = std::all_of(arm.guards.begin(), arm.guards.end(),
                                [](const Guard& guard) { return guard.holds(); });
  if (arm.ratio.low > 1.0 || broken) {
    arm.verdict = Verdict::kWorse;
  } else if (arm.ratio.high < 1.0 && hold && (!arm.against_noop || arm.against_noop->high < 1.0)) {
    arm.verdict = Verdict::kBetter;
  }
}

}  // namespace

bool Guard::holds() const { return ratio.value >= kGuardRatio; }
bool Guard::broken() const { return ratio.high < kGuardRatio; }

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kNotShown:
      break;
  }
  return "not shown";
}

Interval BlockBootstrap(const std::vector<double>& d, uint64_t seed) {
  const size_t run = LagOne(d) > kCorrelated ? 2 : 1;
  return Resample(d.size(), run, seed, [&](const std::vector<size_t>& blocks) {
    double sum = 0.0;
    for (const size_t i : blocks) sum += d[i];
    return sum / static_cast<double>(blocks.size());
  });
}

double LogLatency(const std::vector<GroupSpec>& groups, const Window& window, double q) {
  double sum = 0.0;
  int counted = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!groups[g].latency()) continue;
    const Histogram& latency = window.groups[g].latency_us;
    sum +=
        std::log(latency.total() > 0 ? std::max(1.0, latency.Quantile(q)) : 1e6 * window.seconds);
    ++counted;
  }
  return counted > 0 ? sum / counted : 0.0;
}

Judgement Judge(const std::vector<GroupSpec>& groups, const std::vector<std::string>& arms,
                const std::vector<Window>& windows, uint64_t seed) {
  const Table table = CompleteBlocks(groups, arms, windows);
  const auto& baseline = table.at(kBaselineArm);
  const std::vector<double> base = LogMetrics(groups, baseline);
  Judgement judgement;
  for (const std::string& name : arms) {
    if (name == kBaselineArm) continue;
    const auto& own = table.at(name);
    const std::vector<double> logs = LogMetrics(groups, own);
    ArmResult arm{.name = name,
                  .blocks = own.size(),
                  .p50_us = Pooled(groups, own, 0.5),
                  .p99_us = Pooled(groups, own, 0.99),
                  .ratio = Exp(BlockBootstrap(Difference(logs, base), MixSeed(seed, 1)))};
    const bool acts = name != kNoopArm && name != kSameArm;
    if (acts && table.contains(kNoopArm)) {
      const auto noop = LogMetrics(groups, table.at(kNoopArm));
      arm.against_noop = Exp(BlockBootstrap(Difference(logs, noop), MixSeed(seed, 2)));
    }
    if (acts && name != kOracleArm && table.contains(kOracleArm)) {
      const auto oracle = LogMetrics(groups, table.at(kOracleArm));
      std::vector<double> margin(logs.size());
      for (size_t i = 0; i < logs.size(); ++i) {
        margin[i] = (base[i] - logs[i]) - kOracleShare * (base[i] - oracle[i]);
      }
      arm.against_oracle = BlockBootstrap(margin, MixSeed(seed, 3));
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].latency()) continue;
      arm.guards.push_back(MakeGuard(g, groups[g], true, own, baseline, seed));
      arm.guards.push_back(MakeGuard(g, groups[g], false, own, baseline, seed));
    }
    Decide(arm);
    if (name == kSameArm) {
      judgement.noise_sd = Sd(Difference(logs, base));
      judgement.detectable =
          std::exp(kPowerFactor * judgement.noise_sd / std::sqrt(static_cast<double>(logs.size())));
    }
    judgement.arms.push_back(std::move(arm));
  }
  return judgement;
}

}  // namespace kernelx
