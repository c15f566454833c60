// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/train/metrics.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"

namespace kernelx {
namespace {

using M = UpdateMetrics;

constexpr Metric kMetrics[] = {
    {"update", "Index of the update, from 0.", &M::update},
    {"horizon", "Decisions in an episode.", &M::horizon},
    {"samples", "Decisions this update learnt from.", &M::samples},
    {"reward", "Mean reward of a decision under the sampled actions.", &M::reward},
    {"reward_std", "Standard deviation of the return within a group, mean over groups.",
     &M::reward_std},
    {"frac_reward_zero_std",
     "Share of groups whose return varies by less than 0.001 of the running scale; above 0.3 the "
     "dynamics hardly see the action.",
     &M::frac_reward_zero_std},
    {"advantage_scale", "What centred returns were divided by.", &M::advantage_scale},
    {"loss", "Clipped surrogate plus weighted KL minus weighted entropy.", &M::loss},
    {"clip_ratio/low_mean", "Share of samples with negative advantage whose ratio was clipped.",
     &M::clip_ratio_low},
    {"clip_ratio/high_mean", "Share of samples with positive advantage whose ratio was clipped.",
     &M::clip_ratio_high},
    {"clip_ratio/region_mean", "Sum of the two.", &M::clip_ratio},
    {"kl", "KL(policy || reference), nats, analytic.", &M::kl},
    {"policy_kl", "KL(old || new) found at the last epoch, nats; ends the update above kl_stop.",
     &M::policy_kl},
    {"entropy", "Differential entropy of the action, nats; at most ln 2 = 0.693.", &M::entropy},
    {"policy_std", "Standard deviation before the tanh.", &M::policy_std},
    {"action_mean", "Mean of the sampled actions.", &M::action_mean},
    {"action_saturated", "Share of sampled actions beyond 0.95 either way.", &M::action_saturated},
    {"grad_norm", "Norm of the gradient before clipping.", &M::grad_norm},
    {"grad_clipped",
     "Share of steps whose gradient was clipped; near 1, rare bad outcomes count for less than "
     "their mean.",
     &M::grad_clipped},
    {"learning_rate", "Of Adam, at this update.", &M::learning_rate},
    {"kl_weight", "Weight of KL in the loss, at this update.", &M::kl_weight},
    {"epochs", "Gradient steps taken.", &M::epochs},
};

std::string Header() {
  std::string header;
  for (const Metric& metric : kMetrics) {
    if (!header.empty()) header += ',';
    header += metric.name;
  }
  return header + '\n';
}

/// The header and the whole rows of updates before `first_update`.
std::string RowsBefore(const std::string& path, uint64_t first_update) {
  const std::string old = ReadFile(path);
  const std::string header = Header();
  if (!old.starts_with(header)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}:1: not the columns this program writes; move the file away", path));
  }
  std::string kept = header;
  for (size_t at = header.size(); at < old.size();) {
    const size_t end = old.find('\n', at);
    uint64_t update = 0;
    if (end == std::string::npos ||
        std::from_chars(old.data() + at, old.data() + end, update).ec != std::errc() ||
        update >= first_update) {
      break;
    }
    kept.append(old, at, end + 1 - at);
    at = end + 1;
  }
  return kept;
}

}  // namespace

std::span<const Metric> MetricTable() { return kMetrics; }

MetricsCsv::MetricsCsv(const std::string& path, uint64_t first_update) : path_(path) {
  const bool resume = first_update > 0 && std::filesystem::exists(path);
  WriteFileAtomically(path, resume ? RowsBefore(path, first_update) : Header());
  file_.open(path, std::ios::app);
}

void MetricsCsv::Write(const UpdateMetrics& metrics) {
  std::string row;
  for (const Metric& metric : kMetrics) {
    if (!row.empty()) row += ',';
    fmt::format_to(std::back_inserter(row), "{}", metrics.*metric.field);
  }
  file_ << row << '\n' << std::flush;
  if (!file_) {
    throw Error(ErrorCode::kFile,
                fmt::format("{}: cannot write; free some space and resume from the last checkpoint",
                            path_));
  }
}

}  // namespace kernelx
