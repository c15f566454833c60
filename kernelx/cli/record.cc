// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "kernelx/cli/target_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/ground/error.h"
#include "kernelx/live/engine.h"
#include "kernelx/live/explorer.h"
#include "kernelx/record/kxr.h"

namespace kernelx::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct RecordFlags {
  std::string out;
  double seconds = 0.0;
  TargetSpec target;
  std::vector<std::string> command;
  uint32_t drain_us = 300;
  uint32_t buffer_mb = 8;
  double explore = 0.0;
  double p_zero = 0.15;
  std::string policy;
  uint64_t seed = 1;
  bool measure_cost = false;
  bool json = false;
};

/// Events and nudges into the file, and what the live summary says of them.
class Tape final : public EngineSink, public SensorSink {
 public:
  Tape(const std::string& path, const std::map<std::string, std::string>& about)
      : writer_(path, about) {}

  void OnEvent(const SchedEvent& event) override {
    writer_.Event(event);
    tasks_.insert(TaskOf(event.state));
    last_ns_ = event.state.timestamp_ns;
  }
  void OnLost(uint64_t count) override { writer_.Gap({.at_ns = last_ns_, .count = count}); }
  void OnNudge(const NudgeRecord& nudge, const SchedEvent& /*event*/, double /*before*/,
               std::span<const double> /*features*/) override {
    writer_.Nudge(nudge);
    draws_ += nudge.drawn ? 1 : 0;
  }

  [[nodiscard]] KxrWriter& writer() { return writer_; }
  [[nodiscard]] size_t tasks() const { return tasks_.size(); }
  [[nodiscard]] uint64_t draws() const { return draws_; }

 private:
  struct Order {
    bool operator()(const TaskId& a, const TaskId& b) const {
      return std::pair(a.pid, a.start_ns) < std::pair(b.pid, b.start_ns);
    }
  };
  KxrWriter writer_;
  std::set<TaskId, Order> tasks_;
  uint64_t last_ns_ = 0;
  uint64_t draws_ = 0;
};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// A line on stderr: redrawn on a terminal, else every ten seconds.
class Summary {
 public:
  void Show(const Tape& tape, uint64_t events, uint64_t bytes, uint64_t lost) {
    const double seconds = Since(begin_);
    ++calls_;
    if (!terminal_ && calls_ % 10 != 0) return;
    const double rate = static_cast<double>(events - events_) / std::max(1e-9, seconds - shown_s_);
    events_ = events;
    shown_s_ = seconds;
    fmt::print(stderr,
               "{}record: {:5.0f} s  {:>9.0f} events/s  {} tasks  {} draws  {} lost  {:.1f} MB{}",
               terminal_ ? "\r" : "", seconds, rate, tape.tasks(), tape.draws(), lost,
               static_cast<double>(bytes) / 1e6, terminal_ ? "\x1b[K" : "\n");
  }
  void End() const {
    if (terminal_ && calls_ > 0) fmt::print(stderr, "\n");
  }

 private:
  Clock::time_point begin_ = Clock::now();
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  uint64_t calls_ = 0, events_ = 0;
  double shown_s_ = 0.0;
};

std::map<std::string, std::string> About(const RecordFlags& flags) {
  utsname host{};
  uname(&host);
  std::map<std::string, std::string> about = {
      {"kernelx", KERNELX_VERSION},
      {"kernel", host.release},
      {"machine", host.machine},
      {"cpus", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))},
      {"drain_us", std::to_string(flags.drain_us)}};
  if (flags.explore > 0.0) {
    about["explore"] = fmt::format("{}", flags.explore);
    about["p_zero"] = fmt::format("{}", flags.p_zero);
    about["seed"] = std::to_string(flags.seed);
    if (!flags.policy.empty()) about["policy"] = flags.policy;
  }
  std::string command;
  for (const std::string& word : flags.command) command += (command.empty() ? "" : " ") + word;
  if (!command.empty()) about["command"] = command;
  return about;
}

struct Result {
  double seconds = 0.0;
  double cpu_s = 0.0;
  SensorStats sensor;
  std::optional<EngineStats> engine;
};

/// Drains until told to stop; flushes and shows once a second.
template <typename Step, typename Lost>
void Loop(const RecordFlags& flags, Tape& tape, const std::function<bool()>& stop, Step&& step,
          Lost&& lost) {
  Summary summary;
  const auto begin = Clock::now();
  auto next = begin, told = begin;
  while (!stop() && (flags.seconds <= 0.0 || Since(begin) < flags.seconds)) {
    step();
    const auto now = Clock::now();
    if (now - told >= std::chrono::seconds(1)) {
      told = now;
      tape.writer().Flush();
      const KxrStats& stats = tape.writer().stats();
      summary.Show(tape, stats.events, stats.bytes, lost());
    }
    next = std::max(next + std::chrono::microseconds(flags.drain_us), now);
    std::this_thread::sleep_until(next);
  }
  step();
  summary.End();
}

Result Run(const RecordFlags& flags, TargetSpec target, Command* command, Tape& tape) {
  const auto stop = [&] { return StopAsked() || (command != nullptr && command->Ended()); };
  setpriority(PRIO_PROCESS, 0, -20);  // a recorder that waits loses events; fails without the right
  Result result;
  const auto begin = Clock::now();
  const double cpu_before = CpuSeconds();
  if (flags.explore > 0.0) {
    auto explorer = std::make_unique<Explorer>(ExploreOptions{.p_draw = flags.explore,
                                                              .p_zero = flags.p_zero,
                                                              .seed = flags.seed,
                                                              .policy = flags.policy});
    Engine engine({.target = std::move(target), .drain_ns = flags.drain_us * 1000ULL},
                  std::move(explorer), &tape);
    if (command != nullptr) command->Go();
    Loop(
        flags, tape, stop, [&] { engine.Step(); }, [&] { return engine.stats().dropped; });
    result.engine = engine.stats();
    result.sensor = {.events = result.engine->events, .dropped = result.engine->dropped};
  } else {
    const auto sensor = OpenSensor({.target = std::move(target),
                                    .buffer_bytes = size_t{flags.buffer_mb} << 20,
                                    .ignored_tgids = {getpid()},
                                    .measure_cost = flags.measure_cost});
    if (command != nullptr) command->Go();
    Loop(
        flags, tape, stop, [&] { sensor->Drain(tape); }, [&] { return sensor->stats().dropped; });
    result.sensor = sensor->stats();
  }
  result.seconds = Since(begin);
  result.cpu_s = CpuSeconds() - cpu_before;
  return result;
}

void Report(const RecordFlags& flags, const Tape& tape, const KxrStats& stats,
            const Result& result) {
  const double cpus = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  const double own = result.cpu_s / result.seconds;
  if (flags.json) {
    nlohmann::json json = {{"file", flags.out},      {"seconds", result.seconds},
                           {"events", stats.events}, {"tasks", tape.tasks()},
                           {"lost", stats.lost},     {"nudges", stats.nudges},
                           {"draws", tape.draws()},  {"bytes", stats.bytes},
                           {"own_cpu_share", own},   {"filtered", result.sensor.filtered}};
    if (flags.measure_cost) json["kernel_cpu_share"] = result.sensor.kernel_s / result.seconds;
    if (result.engine) {
      json["in_force"] = result.engine->in_force;
      json["checked"] = result.engine->checked;
      json["latency_p50_us"] = result.engine->latency_us.Quantile(0.5);
      json["latency_p99_us"] = result.engine->latency_us.Quantile(0.99);
    }
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{}: {} events of {} tasks in {:.1f} s, {} lost, {:.1f} MB\n", flags.out, stats.events,
             tape.tasks(), result.seconds, stats.lost, static_cast<double>(stats.bytes) / 1e6);
  fmt::print("recorder: {:.2f} % of one CPU ({:.2f} % of the machine)", 100 * own,
             100 * own / cpus);
  if (flags.measure_cost) {
    fmt::print(", in the kernel {:.2f} % of one CPU",
               100 * result.sensor.kernel_s / result.seconds);
  }
  fmt::print("\n");
  if (!result.engine) return;
  const EngineStats& engine = *result.engine;
  fmt::print(
      "{} nudges, {} of them drawn; {:.0f} % in force at the task's next event;\n"
      "event to nudge p50 {:.0f} us, p99 {:.0f} us; every task has its own values back\n",
      stats.nudges, tape.draws(),
      100.0 * static_cast<double>(engine.in_force) /
          static_cast<double>(std::max<uint64_t>(1, engine.checked)),
      engine.latency_us.Quantile(0.5), engine.latency_us.Quantile(0.99));
}

void Record(const RecordFlags& flags) {
  if (!flags.policy.empty() && flags.explore <= 0.0) {
    throw Error(ErrorCode::kUsage,
                "--policy: a policy is explored around; say --explore P as well");
  }
  if (flags.explore > 0.0 && flags.target.everything() && flags.command.empty()) {
    throw Error(ErrorCode::kUsage,
                "--explore: acts on tasks; say on which (--comm, --tree, ... or -- COMMAND)");
  }
  CatchStopSignals();
  TargetSpec target = flags.target;
  std::optional<Command> command;
  if (!flags.command.empty()) {
    command.emplace(flags.command);
    if (target.everything()) target.tree_roots = {command->pid()};
  }
  Tape tape(flags.out, About(flags));
  Result result;
  try {
    result = Run(flags, std::move(target), command ? &*command : nullptr, tape);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kMissingCapability && tape.writer().stats().events == 0) {
      std::filesystem::remove(flags.out);
    }
    throw;
  }
  tape.writer().Close();
  Report(flags, tape, tape.writer().stats(), result);
  if (command && command->Ended() && command->status() != 0) {
    fmt::print(stderr, "kernelx record: the command ended with status {}\n", command->status());
  }
}

}  // namespace

void AddRecord(CLI::App& root) {
  const auto flags = std::make_shared<RecordFlags>();
  CLI::App& verb =
      AddVerb(root, "record", "scheduler telemetry from this kernel, into a recording (.kxr)",
              "  kernelx record --out all.kxr --seconds 1\n"
              "  kernelx record --out sleep.kxr -- sleep 0.2\n"
              "  kernelx record --out load.kxr --explore 0.1 --seconds 1 \\\n"
              "    -- sh -c 'for i in 1 2 3 4 5; do sleep 0.1; done'\n");
  verb.add_option("--out", flags->out, "recording to write; never overwritten")
      ->required()
      ->type_name("FILE.kxr");
  verb.add_option("--seconds", flags->seconds,
                  "stop after this time; 0: at Ctrl-C or COMMAND's end")
      ->type_name("S");
  AddTargetFlags(verb, flags->target);
  verb.add_option("--explore", flags->explore,
                  "set nice and slice at random: probability of a draw at each event of a task; "
                  "every task gets its own values back at the end")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0));
  verb.add_option("--policy", flags->policy,
                  "explore around this policy (a name or a file) instead of around 0")
      ->type_name("POLICY");
  verb.add_option("--p-zero", flags->p_zero, "probability that a draw is exactly 0")
      ->capture_default_str()
      ->type_name("P");
  verb.add_option("--seed", flags->seed, "of the draws")->capture_default_str()->type_name("N");
  verb.add_option("--drain-us", flags->drain_us, "time between two looks at the ring")
      ->capture_default_str()
      ->check(CLI::Range(50U, 100'000U))
      ->type_name("US");
  verb.add_option("--buffer-mb", flags->buffer_mb, "ring buffer")
      ->capture_default_str()
      ->check(CLI::Range(1U, 1024U))
      ->type_name("MB");
  verb.add_flag("--measure-cost", flags->measure_cost,
                "let the kernel time the sensor's programs, and print it");
  verb.add_flag("--json", flags->json, "the summary as JSON");
  verb.add_option("command", flags->command, "run this meanwhile; its tree is the target")
      ->type_name("-- COMMAND...");
  verb.callback([flags] { Record(*flags); });
}

}  // namespace kernelx::cli
