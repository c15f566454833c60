// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/cli/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "kernelx/env/reward.h"

namespace kernelx::cli {
namespace {

constexpr std::array<const char*, 6> kWokenBy = {"preempted", "timer", "softirq",
                                                 "irq",       "task",  "new"};

const Reward& Balanced() {
  static const std::unique_ptr<Reward> reward = MakeReward("balanced");
  return *reward;
}

/// Three digits or so, with its unit.
std::string Time(double us) {
  if (us < 1e3) return fmt::format("{:.0f} us", us);
  if (us < 1e4) return fmt::format("{:.1f} ms", us / 1e3);
  if (us < 1e6) return fmt::format("{:.0f} ms", us / 1e3);
  return fmt::format("{:.1f} s", us / 1e6);
}

std::string Count(double count) {
  if (count < 1e5) return fmt::format("{:.0f}", count);
  return count < 1e8 ? fmt::format("{:.0f}k", count / 1e3) : fmt::format("{:.0f}M", count / 1e6);
}

/// Names come from tasks, which may call themselves anything: nothing of them reaches the terminal
/// but printable ASCII.
std::string Printable(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

void MostWaitingFirst(std::vector<TopTask>& tasks) {
  std::stable_sort(tasks.begin(), tasks.end(), [](const TopTask& a, const TopTask& b) {
    return a.wait_p99_us > b.wait_p99_us;
  });
}

/// What was counted since the status before; all of it when that is of another `live`.
double Grown(const nlohmann::json& now, const nlohmann::json& before, const char* key) {
  const double all = now.at("totals").at(key).get<double>();
  if (before.is_null() || before.at("pid") != now.at("pid")) return 0.0;
  return std::max(0.0, all - before.at("totals").at(key).get<double>());
}

}  // namespace

TopModel ModelOfLive(const nlohmann::json& status, const nlohmann::json& before, double seconds) {
  TopModel model;
  const nlohmann::json& totals = status.at("totals");
  const bool rates = !before.is_null() && before.at("pid") == status.at("pid") && seconds > 0.0;
  const double over = rates ? seconds : std::max(1.0, totals.at("seconds").get<double>());
  const auto rate = [&](const char* key) {
    return (rates ? Grown(status, before, key) : totals.at(key).get<double>()) / over;
  };
  model.source = "live";
  model.rung = status.at("rung").get<std::string>();
  model.policy = status.at("policy").get<std::string>();
  model.dry_run = status.at("dry_run").get<bool>();
  model.events_per_s = rate("events");
  model.decisions_per_s = rate("decisions");
  model.dropped = totals.at("dropped").get<uint64_t>();
  model.nudges = totals.at("nudges").get<uint64_t>();
  model.touched = totals.at("touched").get<uint64_t>();
  model.latency_p50_us = totals.at("latency_p50_us").get<double>();
  model.latency_p99_us = totals.at("latency_p99_us").get<double>();
  model.own_cpu_share = totals.at("own_cpu_share").get<double>();
  double effort = 0.0;
  for (const nlohmann::json& task : status.at("tasks")) {
    TopTask shown{.pid = task.at("pid").get<int32_t>(),
                  .comm = task.at("comm").get<std::string>(),
                  .wait_p50_us = task.at("wait_p50_us").get<double>(),
                  .wait_p99_us = task.at("wait_p99_us").get<double>(),
                  .switches_per_s = task.at("switches").get<double>(),  // published every second
                  .cpu_share = task.at("cpu_share").get<double>(),
                  .action = task.at("action").get<double>(),
                  .why = task.at("why").get<std::string>()};
    std::array<double, Reward::kMaxTerms> terms{};
    Balanced().FromAction(shown.action, shown.action, terms.data());
    effort += terms[0];
    model.tasks.push_back(std::move(shown));
  }
  if (!model.tasks.empty()) {
    model.reward = {{"effort", effort / static_cast<double>(model.tasks.size())}};
  }
  MostWaitingFirst(model.tasks);
  return model;
}

void TopGatherer::OnEvent(const SchedEvent& event) {
  const auto& f = event.state.features;
  Task& task = tasks_[event.state.pid];
  if (task.start_ns != f[kSlotStartNs]) task = Task{};
  ++events_;
  if (task.at_ns != 0 && f[kSlotExecNs] >= task.exec_ns) {
    const uint64_t burst_ns = f[kSlotExecNs] - task.exec_ns;
    task.used_ns += burst_ns;
    Outcome outcome{.events = 1};
    outcome.exec_us = static_cast<double>(burst_ns) / 1e3;
    outcome.dt_us = static_cast<double>(event.state.timestamp_ns - task.at_ns) / 1e3;
    const auto wait_us = static_cast<double>(f[kSlotWaitUs]);
    outcome.log_slowdown = std::log1p(wait_us / (outcome.exec_us + 100.0));
    std::array<double, Reward::kMaxTerms> terms{};
    Balanced().FromOutcome(outcome, terms.data());
    latency_sum_ += terms[0];
    price_sum_ += terms[1];
    ++outcomes_;
  }
  task.comm = event.name();
  task.start_ns = f[kSlotStartNs];
  task.exec_ns = f[kSlotExecNs];
  task.at_ns = event.state.timestamp_ns;
  task.waits.Add(f[kSlotWaitUs]);
  ++task.woken[std::min<size_t>(f[kSlotWokenBy], kWokenBy.size() - 1)];
}

void TopGatherer::OnLost(uint64_t /*count*/) {
  for (auto& [pid, task] : tasks_) task.at_ns = 0;
}

void TopGatherer::OnExit(int32_t pid, uint64_t /*start_ns*/) { tasks_.erase(pid); }

TopModel TopGatherer::Look(const Sensor& sensor, double seconds) {
  TopModel model;
  seconds = std::max(seconds, 1e-3);
  model.source = "sensor";
  model.rung = sensor.rung();
  model.dropped = sensor.stats().dropped;
  model.events_per_s = static_cast<double>(events_) / seconds;
  if (outcomes_ > 0) {
    const auto n = static_cast<double>(outcomes_);
    model.reward = {{"latency", latency_sum_ / n}, {"price", price_sum_ / n}};
  }
  for (auto& [pid, task] : tasks_) {
    if (task.waits.total() == 0) continue;
    const auto most = std::max_element(task.woken.begin(), task.woken.end());
    model.tasks.push_back({.pid = pid,
                           .comm = task.comm,
                           .wait_p50_us = task.waits.Quantile(0.5),
                           .wait_p99_us = task.waits.Quantile(0.99),
                           .switches_per_s = static_cast<double>(task.waits.total()) / seconds,
                           .cpu_share = static_cast<double>(task.used_ns) / 1e9 / seconds,
                           .woken_by = kWokenBy[static_cast<size_t>(most - task.woken.begin())]});
    task.waits = {};
    task.woken = {};
    task.used_ns = 0;
  }
  latency_sum_ = price_sum_ = 0.0;
  outcomes_ = events_ = 0;
  MostWaitingFirst(model.tasks);
  return model;
}

std::vector<std::string> Frame(const TopModel& model, int width, int height) {
  const bool live = model.source == "live";
  std::vector<std::string> lines;
  lines.push_back(fmt::format("kernelx top   sensor {}   {} events/s   {} lost", model.rung,
                              Count(model.events_per_s), model.dropped));
  if (live) {
    lines.push_back(fmt::format("live: policy {}{}   {} decisions/s   {} nudges, {} in place",
                                Printable(model.policy), model.dry_run ? " (dry run)" : "",
                                Count(model.decisions_per_s), model.nudges, model.touched));
    lines.push_back(fmt::format("event to nudge p50 {}, p99 {}   own CPU {:.1f} %",
                                Time(model.latency_p50_us), Time(model.latency_p99_us),
                                100 * model.own_cpu_share));
  } else {
    lines.emplace_back("no `kernelx live` runs: waits only, from a sensor of our own");
  }
  std::string reward = "reward `balanced`, mean:";
  for (const auto& [term, value] : model.reward) reward += fmt::format("  {} {:.3f}", term, value);
  if (model.reward.empty()) reward += "  nothing yet";
  lines.push_back(reward);
  lines.emplace_back();
  lines.push_back(fmt::format("{:>8} {:15} {:>8} {:>8} {:>7} {:>6}  {}", "PID", "COMMAND",
                              "WAIT p50", "p99", "SWIT/S", "CPU %",
                              live ? "NUDGE  WHY" : "WOKEN BY"));
  for (const TopTask& task : model.tasks) {
    const std::string nudge =
        task.action == 0.0 ? "" : fmt::format("{:+.2f}  {}", task.action, Printable(task.why));
    lines.push_back(fmt::format("{:>8} {:15.15} {:>8} {:>8} {:>7} {:>6.1f}  {}", task.pid,
                                Printable(task.comm), Time(task.wait_p50_us),
                                Time(task.wait_p99_us), Count(task.switches_per_s),
                                100 * task.cpu_share, live ? nudge : task.woken_by));
  }
  if (model.tasks.empty()) lines.emplace_back("         no task was switched in");
  if (lines.size() > static_cast<size_t>(std::max(0, height))) {
    lines.resize(static_cast<size_t>(std::max(0, height)));
  }
  for (std::string& line : lines) {
    if (line.size() > static_cast<size_t>(std::max(0, width))) {
      line.resize(static_cast<size_t>(std::max(0, width)));
    }
  }
  return lines;
}

nlohmann::json ToJson(const TopModel& model) {
  nlohmann::json json = {{"source", model.source},
                         {"rung", model.rung},
                         {"events_per_s", model.events_per_s},
                         {"dropped", model.dropped},
                         {"reward", nlohmann::json::object()},
                         {"tasks", nlohmann::json::array()}};
  for (const auto& [term, value] : model.reward) json["reward"][term] = value;
  if (model.source == "live") {
    json.update({{"policy", model.policy},
                 {"dry_run", model.dry_run},
                 {"decisions_per_s", model.decisions_per_s},
                 {"nudges", model.nudges},
                 {"touched", model.touched},
                 {"latency_p50_us", model.latency_p50_us},
                 {"latency_p99_us", model.latency_p99_us},
                 {"own_cpu_share", model.own_cpu_share}});
  }
  for (const TopTask& task : model.tasks) {
    json["tasks"].push_back({{"pid", task.pid},
                             {"comm", task.comm},
                             {"wait_p50_us", task.wait_p50_us},
                             {"wait_p99_us", task.wait_p99_us},
                             {"switches_per_s", task.switches_per_s},
                             {"cpu_share", task.cpu_share},
                             {"woken_by", task.woken_by},
                             {"action", task.action},
                             {"why", task.why}});
  }
  return json;
}

}  // namespace kernelx::cli
