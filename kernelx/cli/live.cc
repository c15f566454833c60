// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "kernelx/act/probe.h"
#include "kernelx/cli/target_flags.h"
#include "kernelx/cli/verb.h"
#include "kernelx/cli/verbs.h"
#include "kernelx/ground/error.h"
#include "kernelx/live/engine.h"
#include "kernelx/live/status.h"

namespace kernelx::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct LiveFlags {
  std::string policy;
  TargetSpec target;
  bool all = false;
  double seconds = 0.0;
  bool dry_run = false;
  bool no_probe = false;
  bool json = false;
  bool quiet = false;
  int ready_fd = -1;
  std::string audit;
  uint32_t drain_us = 2000;  // what stands goes on standing meanwhile
  uint32_t gap_us = 500;
  GovernorOptions governor;
  double rest_ms = 20.0;
  double ttl_s = 10.0;
};

/// The engine's calls to the audit log, which needs the engine's decider and so is made after it.
class LateSink final : public EngineSink {
 public:
  void Bind(EngineSink& to) { to_ = &to; }
  void OnNudge(const NudgeRecord& nudge, const SchedEvent& event, double before,
               std::span<const double> features) override {
    if (to_ != nullptr) to_->OnNudge(nudge, event, before, features);
  }
  void OnYield(const SchedEvent& event) override {
    if (to_ != nullptr) to_->OnYield(event);
  }
  void OnLost(uint64_t count) override {
    if (to_ != nullptr) to_->OnLost(count);
  }

 private:
  EngineSink* to_ = nullptr;
};

void CheckKnobs(const LiveFlags& flags) {
  const ProbeResult probe = ProbeKnobs();
  if (!probe.nice_acts()) {
    throw Error(
        ErrorCode::kMissingCapability,
        fmt::format("live: {}; a scheduler that ignores nice (sched_ext?) or a missing right; "
                    "run `kernelx doctor`, or --no-probe to go on all the same",
                    probe.Text()));
  }
  if (!flags.quiet) fmt::print(stderr, "live: {}\n", probe.Text());
}

/// Capabilities needed to act on tasks of others; said before anything is attached.
void CheckRights() {
  if (setpriority(PRIO_PROCESS, 0, -20) == 0) return;
  throw Error(ErrorCode::kMissingCapability,
              "live: may not lower a nice value; run as root, or give the program CAP_SYS_NICE, "
              "CAP_BPF and CAP_PERFMON; --dry-run needs no CAP_SYS_NICE");
}

void TellReady(int fd) {
  if (fd < 0) return;
  if (write(fd, "ready\n", 6) != 6) {
    throw Error(ErrorCode::kUsage, fmt::format("--ready-fd {}: cannot be written to", fd));
  }
}

void Print(const LiveFlags& flags, const EngineStats& stats, bool autogroup_limits) {
  if (flags.json) {
    nlohmann::json json = ToJson(stats);
    json["dry_run"] = flags.dry_run;
    json["autogroup_limits"] = autogroup_limits;
    fmt::print("{}\n", json.dump());
    return;
  }
  const nlohmann::json j = ToJson(stats);
  fmt::print(
      "{:.1f} s: {} events, {} decisions ({:.0f}/s), {} nudges{}; {} events lost\n"
      "event to nudge p50 {:.0f} us, p99 {:.0f} us; {:.0f} % in force at the task's next event\n"
      "own CPU {:.2f} % of one CPU; {}\n",
      stats.seconds, stats.events, stats.decisions, j["decisions_per_s"].get<double>(),
      stats.nudges, flags.dry_run ? " that would have been" : "", stats.dropped,
      j["latency_p50_us"].get<double>(), j["latency_p99_us"].get<double>(),
      100 * j["in_force_share"].get<double>(), 100 * j["own_cpu_share"].get<double>(),
      flags.dry_run ? "nothing was changed" : "every task has its own values back");
}

void Live(LiveFlags flags) {
  if (flags.target.everything() && !flags.all) {
    throw Error(ErrorCode::kUsage,
                "live: on which tasks? --comm, --pid, --tree, --cgroup or --uid; or --all");
  }
  flags.governor.rest_ns = static_cast<uint64_t>(flags.rest_ms * 1e6);
  flags.governor.ttl_ns = static_cast<uint64_t>(flags.ttl_s * 1e9);
  auto decider = std::make_unique<PolicyDecider>(flags.policy, flags.governor.rest_ns);
  const std::string policy = decider->policy().name();
  if (flags.dry_run) {
    setpriority(PRIO_PROCESS, 0, -20);
  } else {
    CheckRights();
    if (!flags.no_probe) CheckKnobs(flags);
  }
  CatchStopSignals();
  LateSink sink;
  EngineStats stats;
  bool autogroup_limits = false;
  {
    Engine engine({.target = flags.target,
                   .governor = flags.governor,
                   .dry_run = flags.dry_run,
                   .drain_ns = flags.drain_us * 1000ULL,
                   .least_gap_ns = flags.gap_us * 1000ULL},
                  std::move(decider), &sink);
    AuditLog audit(flags.audit, engine.decider());
    sink.Bind(audit);
    mlockall(MCL_CURRENT);  // a page fault in the loop is a late nudge; fails without the right
    if (getuid() == 0) DropCapabilities();
    if (!flags.quiet) {
      fmt::print(stderr, "live: {} policy {} on {}; Ctrl-C ends it and puts every task back\n",
                 flags.dry_run ? "would apply" : "applies", policy,
                 flags.target.everything() ? "all tasks" : "the targets");
    }
    TellReady(flags.ready_fd);
    const auto begin = Clock::now();
    const auto stop = [&] {
      return StopAsked() ||
             (flags.seconds > 0.0 &&
              std::chrono::duration<double>(Clock::now() - begin).count() >= flags.seconds);
    };
    engine.Run(stop, [&] {
      audit.Flush();
      if (!flags.dry_run) PublishStatus(engine, audit, policy);
      if (autogroup_limits || engine.sessions() < 2 || !AutogroupEnabled()) return;
      autogroup_limits = true;
      fmt::print(
          stderr,
          "live: the targets lie in {} sessions and autogroup is on: nice acts only among the "
          "tasks of one session;\n      `sysctl kernel.sched_autogroup_enabled=0` lets it act "
          "among all\n",
          engine.sessions());
    });
    stats = engine.stats();
  }
  if (!flags.dry_run) unlink(StatusPath().c_str());
  Print(flags, stats, autogroup_limits);
}

}  // namespace

void AddLive(CLI::App& root) {
  const auto flags = std::make_shared<LiveFlags>();
  CLI::App& verb = AddVerb(root, "live", "apply a policy to the running kernel; undoes itself",
                           "  kernelx live --policy interactive --all --dry-run --seconds 1\n"
                           "  kernelx live --policy interactive --comm no-such-task --seconds 1\n");
  verb.add_option("--policy", flags->policy, "policy: a name or a file (.safetensors)")
      ->required()
      ->type_name("POLICY");
  AddTargetFlags(verb, flags->target);
  verb.add_flag("--all", flags->all, "every task but kernel threads")->group("Targets");
  verb.add_option("--seconds", flags->seconds, "stop after this time; 0: at Ctrl-C")
      ->type_name("S");
  verb.add_flag("--dry-run", flags->dry_run, "sense and decide, change nothing");
  verb.add_option("--audit", flags->audit, "append who, before, after and why, a JSON line a nudge")
      ->type_name("FILE");
  verb.add_option("--spare", flags->governor.spared, "never touch tasks of this name (repeatable)")
      ->allow_extra_args(false)
      ->type_name("NAME");
  const auto number = [&](const char* flag, auto& value, const char* what, const char* type,
                          double least, double most) {
    verb.add_option(flag, value, what)
        ->capture_default_str()
        ->check(CLI::Range(least, most))
        ->type_name(type);
  };
  number("--max-boost", flags->governor.most_boost, "actions are not below minus this", "A", 0, 1);
  number("--max-demote", flags->governor.most_demote, "actions are not above this", "A", 0, 1);
  number("--dead-band", flags->governor.dead_band, "a smaller change of action is not made", "A", 0,
         1);
  number("--rest-ms", flags->rest_ms, "least time between two changes of a task", "MS", 0, 10'000);
  number("--ttl-s", flags->ttl_s, "undo a nudge when its task was not seen for this long", "S", 0.1,
         3600);
  number("--drain-us", flags->drain_us, "time between two looks at the ring", "US", 50, 100'000);
  number("--gap-us", flags->gap_us, "look at a task at most once in this time", "US", 0, 100'000);
  verb.add_flag("--no-probe", flags->no_probe,
                "do not try first whether the knobs act on this host");
  verb.add_option("--ready-fd", flags->ready_fd, "write a line to this descriptor once it acts")
      ->type_name("FD");
  verb.add_flag("--quiet", flags->quiet, "say nothing but errors and the result");
  verb.add_flag("--json", flags->json, "the statistics at the end as JSON");
  verb.callback([flags] { Live(*flags); });
}

}  // namespace kernelx::cli
