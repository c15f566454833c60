// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/live/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr size_t kShownTasks = 64;
constexpr uint32_t kReasonsPerSecond = 200;  // a reason costs some network passes

}  // namespace

nlohmann::json ToJson(const EngineStats& s) {
  const auto share = [](uint64_t part, uint64_t all) {
    return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
  };
  const double seconds = std::max(1e-9, s.seconds);
  return {{"seconds", s.seconds},
          {"events", s.events},
          {"dropped", s.dropped},
          {"decisions", s.decisions},
          {"decisions_per_s", static_cast<double>(s.decisions) / seconds},
          {"nudges", s.nudges},
          {"nudges_per_s", static_cast<double>(s.nudges) / seconds},
          {"refused", s.refused},
          {"mismatched", s.mismatched},
          {"gone", s.gone},
          {"left_small", s.small},
          {"left_rest", s.rested},
          {"left_spared", s.spared},
          {"in_force_share", share(s.in_force, s.checked)},
          {"yielded", s.yielded},
          {"expired", s.expired},
          {"heirs", s.heirs},
          {"latency_p50_us", s.latency_us.Quantile(0.5)},
          {"latency_p99_us", s.latency_us.Quantile(0.99)},
          {"own_cpu_share", s.own_cpu_s / seconds},
          {"tasks", s.tasks},
          {"touched", s.touched}};
}

AuditLog::AuditLog(const std::string& path, const Decider& decider) : decider_(decider) {
  if (path.empty()) return;
  file_.open(path, std::ios::app);
  if (!file_) {
    throw Error(ErrorCode::kFile, fmt::format("{}: {}; name a file in a folder that can be written",
                                              path, std::strerror(errno)));
  }
}

void AuditLog::OnNudge(const NudgeRecord& nudge, const SchedEvent& event, double before,
                       std::span<const double> features) {
  const uint64_t second = nudge.decided_ns / 1'000'000'000;
  if (second != reasons_second_) {
    reasons_second_ = second;
    reasons_made_ = 0;
  }
  const bool audited = file_.is_open();
  if (!audited && reasons_made_++ >= kReasonsPerSecond) return;
  const std::string why = nudge.drawn || features.empty() ? "by lot" : decider_.Why(features);
  reasons_[nudge.pid] = why;
  if (reasons_.size() > 4096) reasons_.erase(reasons_.begin());
  if (!audited) return;
  const nlohmann::json line = {{"at_ns", nudge.applied_ns},
                               {"pid", nudge.pid},
                               {"comm", std::string(event.name())},
                               {"before", before},
                               {"after", nudge.action},
                               {"nice", nudge.nice},
                               {"slice_us", static_cast<double>(nudge.slice_ns) / 1e3},
                               {"applied", nudge.applied},
                               {"why", why}};
  file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void AuditLog::OnYield(const SchedEvent& event) {
  reasons_[event.state.pid] = "someone else changed it: left alone";
  if (!file_.is_open()) return;
  const nlohmann::json line = {{"at_ns", event.state.timestamp_ns},
                               {"pid", event.state.pid},
                               {"comm", std::string(event.name())},
                               {"why", "someone else changed it: left alone"}};
  file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void AuditLog::OnLost(uint64_t count) {
  if (file_.is_open()) file_ << nlohmann::json{{"lost_events", count}}.dump() << '\n';
}

std::string AuditLog::Reason(int32_t pid) const {
  const auto found = reasons_.find(pid);
  return found == reasons_.end() ? "" : found->second;
}

std::string StatusPath() { return RunFolder() + "/live.json"; }

void PublishStatus(Engine& engine, const AuditLog& audit, const std::string& policy) {
  nlohmann::json status = {{"pid", getpid()},
                           {"policy", policy},
                           {"rung", engine.rung()},
                           {"dry_run", engine.options().dry_run},
                           {"sessions", engine.sessions()},
                           {"totals", ToJson(engine.stats())},
                           {"tasks", nlohmann::json::array()}};
  for (const TaskView& task : engine.Tasks(kShownTasks)) {
    status["tasks"].push_back({{"pid", task.pid},
                               {"comm", task.comm},
                               {"switches", task.events},
                               {"cpu_share", task.cpu_share},
                               {"wait_p50_us", task.wait_p50_us},
                               {"wait_p99_us", task.wait_p99_us},
                               {"action", task.action},
                               {"nice", task.nice},
                               {"slice_us", static_cast<double>(task.slice_ns) / 1e3},
                               {"why", task.action == 0.0 ? "" : audit.Reason(task.pid)}});
  }
  // No fsync: the file is for those who look now.
  const std::string path = StatusPath(), beside = path + ".new";
  {
    std::ofstream file(beside, std::ios::trunc);
    file << status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  }
  std::rename(beside.c_str(), path.c_str());
}

}  // namespace kernelx
