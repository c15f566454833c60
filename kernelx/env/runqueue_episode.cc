// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/env/runqueue_episode.h"

#include <cmath>
#include <utility>

namespace kernelx {
namespace {

constexpr int64_t kWarmUpNs = 1'000'000'000;
constexpr double kSlowdownSlackUs = 100.0;  // as in outcome.cc; a test holds the two together

}  // namespace

void OutcomeSum::Add(const RawTransition& row) {
  const auto& before = row.state.features;
  const auto& after = row.next.features;
  const double burst_us = static_cast<double>(after[kSlotExecNs] - before[kSlotExecNs]) / 1e3;
  const auto wait_us = static_cast<double>(after[kSlotWaitUs]);
  sum_.exec_us += burst_us;
  sum_.dt_us += static_cast<double>(row.next.timestamp_ns - row.state.timestamp_ns) / 1e3;
  sum_.log_wait += std::log1p(wait_us);
  sum_.log_slowdown +=
      std::log((wait_us + burst_us + kSlowdownSlackUs) / (burst_us + kSlowdownSlackUs));
  ++sum_.events;
}

Outcome OutcomeSum::Result() const {
  Outcome outcome = sum_;
  if (outcome.events == 0) return outcome;
  outcome.log_wait /= outcome.events;
  outcome.log_slowdown /= outcome.events;
  return outcome;
}

RunQueueEpisode::RunQueueEpisode(std::shared_ptr<const RunQueueLoad> load, uint64_t seed,
                                 const ExploreLaw& law, const FeatureSet& set)
    : recorder_(std::move(load), seed, law),
      extractor_(set),
      features_(set.size()),
      seen_(set.size()) {
  const int64_t begin = recorder_.machine().now_ns() + kWarmUpNs;
  while (recorder_.machine().now_ns() < begin) Advance();
  Stand();
}

const RawTransition* RunQueueEpisode::Advance() {
  const RawTransition* row = recorder_.Next();
  extractor_.Observe(recorder_.event(), recorder_.standing(), seen_);
  return row;
}

void RunQueueEpisode::Stand() {
  task_ = recorder_.task();
  logged_ = recorder_.action();
  standing_ = recorder_.standing();
  features_ = seen_;
}

void RunQueueEpisode::ToDraw() {
  do {
    Advance();
  } while (!recorder_.behavior().drawn || recorder_.behavior().mode != DrawMode::kTask);
  Stand();
}

Outcome RunQueueEpisode::Decide(double action, int hold) {
  recorder_.Decide(action);
  OutcomeSum sum;
  while (sum.events() < hold) {
    const RawTransition* row = Advance();
    if (row != nullptr && recorder_.task() == task_) sum.Add(*row);
  }
  Stand();
  return sum.Result();
}

}  // namespace kernelx
