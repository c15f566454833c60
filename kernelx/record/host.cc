// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/record/host.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "kernelx/record/sensor_bpf.h"

namespace kernelx {
namespace {

namespace fs = std::filesystem;

/// The host's files under a root of one's own.
class Files {
 public:
  explicit Files(std::string root) : root_(std::move(root)) {}
  [[nodiscard]] bool Has(const std::string& path) const {
    std::error_code failed;
    return fs::exists(root_ + path, failed);
  }
  [[nodiscard]] bool Writable(const std::string& path) const {
    return access((root_ + path).c_str(), W_OK | X_OK) == 0;
  }
  /// The text without its last newline; nothing when it cannot be read.
  [[nodiscard]] std::optional<std::string> Text(const std::string& path) const {
    std::ifstream file(root_ + path);
    if (!file) return std::nullopt;
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  [[nodiscard]] std::string TextOr(const std::string& path, const std::string& otherwise) const {
    return Text(path).value_or(otherwise);
  }

 private:
  std::string root_;
};

constexpr uint64_t Bit(int capability) { return uint64_t{1} << capability; }
constexpr int kCapSysAdmin = 21, kCapSysNice = 23, kCapPerfmon = 38, kCapBpf = 39;

uint64_t Capabilities(const Files& files) {
  std::istringstream status(files.TextOr("/proc/self/status", ""));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:")) return std::stoull(line.substr(7), nullptr, 16);
  }
  return 0;
}

HostCheck Kernel() {
  utsname host{};
  uname(&host);
  return {.name = "kernel", .ok = true, .detail = fmt::format("Linux {}", host.release)};
}

HostCheck Build() {
  const bool built = BuiltWithBpf();
  return {.name = "bpf build",
          .ok = built,
          .detail = built ? "the BPF sensor is in this program" : "this program has no BPF sensor",
          .mend = built ? "" : "install clang and libbpf-dev, and build again",
          .record = true};
}

HostCheck Btf(const Files& files) {
  const bool there = files.Has("/sys/kernel/btf/vmlinux");
  return {
      .name = "btf",
      .ok = there,
      .detail = there ? "this kernel's fields are known (/sys/kernel/btf)"
                      : "no /sys/kernel/btf/vmlinux: the sensor cannot find the kernel's fields",
      .mend =
          there ? "" : "run a kernel built with CONFIG_DEBUG_INFO_BTF=y (all distributions' are)",
      .record = true};
}

HostCheck Rights(const Files& files, const char* name, std::initializer_list<int> wanted,
                 const char* names, const char* what, bool record, bool act) {
  const uint64_t held = Capabilities(files);
  const bool admin = (held & Bit(kCapSysAdmin)) != 0 && act == false;
  const bool all = std::all_of(wanted.begin(), wanted.end(),
                               [&](int capability) { return (held & Bit(capability)) != 0; });
  const bool ok = all || admin;
  return {.name = name,
          .ok = ok,
          .detail = fmt::format("{} {}: {}", ok ? "has" : "lacks", names, what),
          .mend = ok ? "" : "run as root, or: setcap cap_bpf,cap_perfmon,cap_sys_nice+ep",
          .record = record,
          .act = act};
}

HostCheck Lockdown(const Files& files) {
  const auto text = files.Text("/sys/kernel/security/lockdown");
  const bool strict = text && text->find("[confidentiality]") != std::string::npos;
  return {
      .name = "lockdown",
      .ok = !strict,
      .detail = strict ? "confidentiality: BPF may not read the kernel, not even for root"
                : text ? fmt::format("{}: BPF may read the kernel", *text)
                       : "not in this kernel",
      .mend = strict ? "boot with lockdown=integrity or without it (Secure Boot may set it)" : "",
      .record = true};
}

HostCheck Paranoid(const Files& files) {
  const std::string level = files.TextOr("/proc/sys/kernel/perf_event_paranoid", "?");
  const std::string unprivileged = files.TextOr("/proc/sys/kernel/unprivileged_bpf_disabled", "?");
  return {.name = "paranoid",
          .ok = true,
          .detail = fmt::format("perf_event_paranoid {}, bpf_disabled {}: capabilities decide",
                                level, unprivileged)};
}

HostCheck Tracefs(const Files& files) {
  const std::string folder = "/sys/kernel/tracing/instances";
  const bool mounted = files.Has(folder), ok = files.Writable(folder);
  return {.name = "tracefs",
          .ok = ok,
          .detail = ok        ? "may be used: the second rung, where BPF is refused"
                    : mounted ? "mounted, but not for this user (needed only without BPF)"
                              : "not mounted or not readable (needed only without BPF)",
          .mend = ok        ? ""
                  : mounted ? "run as root"
                            : "as root: mount -t tracefs none /sys/kernel/tracing"};
}

HostCheck Cgroups(const Files& files) {
  const bool v2 = files.Has("/sys/fs/cgroup/cgroup.controllers");
  const bool hybrid = files.Has("/sys/fs/cgroup/unified/cgroup.controllers");
  return {.name = "cgroup",
          .ok = v2 || hybrid,
          .detail = v2       ? "version 2: --cgroup takes paths below /sys/fs/cgroup"
                    : hybrid ? "hybrid: --cgroup takes paths below /sys/fs/cgroup/unified"
                             : "version 1 only: --cgroup finds nothing",
          .mend = v2 || hybrid ? "" : "target by --comm, --pid, --tree or --uid instead"};
}

HostCheck Autogroup(const Files& files) {
  const bool on = files.TextOr("/proc/sys/kernel/sched_autogroup_enabled", "0") == "1";
  return {.name = "autogroup",
          .ok = true,
          .detail = on ? "on: nice acts only among the tasks of one session (setsid)"
                       : "off: nice acts among all tasks of a cgroup",
          .mend = on ? "or: sysctl kernel.sched_autogroup_enabled=0" : ""};
}

HostCheck SchedExt(const Files& files) {
  const auto state = files.Text("/sys/kernel/sched_ext/state");
  const bool enabled = state && *state == "enabled";
  const std::string who = files.TextOr("/sys/kernel/sched_ext/root/ops", "?");
  return {.name = "sched_ext",
          .ok = !enabled,
          .detail = !state ? "not in this kernel: the fair class schedules"
                    : enabled
                        ? fmt::format("{} schedules; whether it heeds nice is its own affair", who)
                        : "in this kernel, no scheduler loaded: the fair class schedules",
          .mend = enabled ? fmt::format("stop {} to let nice and slices act", who) : ""};
}

/// Gives this thread a slice, reads it back, takes it away again.
HostCheck Slices() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attr{}, back{};
  const bool read = syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) == 0;
  constexpr uint64_t kTried = 3'000'000;
  bool acts = false;
  if (read && attr.policy == 0) {
    attr.size = sizeof(attr);
    attr.runtime = kTried;
    acts = syscall(SYS_sched_setattr, 0, &attr, 0) == 0 &&
           syscall(SYS_sched_getattr, 0, &back, sizeof(back), 0) == 0 && back.runtime == kTried;
    attr.runtime = 0;
    syscall(SYS_sched_setattr, 0, &attr, 0);
  }
  return {.name = "slices",
          .ok = acts,
          .detail = acts ? "a task's slice can be set (EEVDF): both knobs act"
                         : "a task's slice cannot be set: nice alone acts",
          .mend = acts ? "" : "slices need Linux 6.12 or later"};
}

HostCheck Preemption() {
  utsname host{};
  uname(&host);
  const std::string version = host.version;
  const char* mode = version.find("PREEMPT_RT") != std::string::npos        ? "PREEMPT_RT"
                     : version.find("PREEMPT_DYNAMIC") != std::string::npos ? "PREEMPT_DYNAMIC"
                     : version.find("PREEMPT") != std::string::npos         ? "PREEMPT"
                                                                            : "none or voluntary";
  return {.name = "preemption",
          .ok = true,
          .detail = fmt::format(
              "{}: waits inside the kernel are {}", mode,
              std::string_view(mode).starts_with("PREEMPT") ? "cut short" : "not cut short")};
}

HostCheck Pmu() {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_HARDWARE;
  attr.size = sizeof(attr);
  attr.config = PERF_COUNT_HW_CPU_CYCLES;
  const int fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
  const bool ok = fd >= 0;
  if (ok) close(fd);
  return {
      .name = "pmu",
      .ok = ok,
      .detail = ok ? "hardware counters are there (not used)" : "no hardware counters (not used)"};
}

HostCheck Container(const Files& files) {
  std::error_code failed;
  const fs::path ns = fs::read_symlink("/proc/self/ns/pid", failed);
  constexpr const char* kInitialPidNamespace = "pid:[4026531836]";
  const bool nested = !failed && ns != kInitialPidNamespace;
  const bool marked =
      files.Has("/.dockerenv") || files.Has("/run/.containerenv") ||
      files.TextOr("/proc/sys/kernel/osrelease", "").find("WSL") != std::string::npos;
  return {.name = "container",
          .ok = !nested,
          .detail = nested ? "a pid namespace of its own: the kernel's pids are not those seen here"
                    : marked ? "in a container, but with the host's pids"
                             : "none: pids are the kernel's own",
          .mend = nested ? "run on the host, or with --pid=host" : "",
          .record = false,
          .act = true};
}

}  // namespace

std::string HostReport::rung() const {
  const auto good = [](const HostCheck& check) { return check.ok || !check.record; };
  if (std::all_of(checks.begin(), checks.end(), good)) return "bpf";
  const auto traced = [](const HostCheck& check) { return check.name == "tracefs" && check.ok; };
  return std::any_of(checks.begin(), checks.end(), traced) ? "tracefs" : "";
}

bool HostReport::can_act() const {
  return can_record() && std::all_of(checks.begin(), checks.end(),
                                     [](const HostCheck& check) { return check.ok || !check.act; });
}

HostReport CheckHost(const std::string& root) {
  const Files files(root);
  return {.checks = {Kernel(), Build(), Btf(files),
                     Rights(files, "bpf rights", {kCapBpf, kCapPerfmon}, "CAP_BPF and CAP_PERFMON",
                            "loading the sensor", true, false),
                     Rights(files, "nice rights", {kCapSysNice}, "CAP_SYS_NICE",
                            "setting nice and slice of any task", false, true),
                     Lockdown(files), Paranoid(files), Tracefs(files), Cgroups(files),
                     Autogroup(files), SchedExt(files), Slices(), Preemption(), Pmu(),
                     Container(files)}};
}

}  // namespace kernelx
