// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/act/actuator.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

namespace kernelx {
namespace {

constexpr int kMinNice = -20;
constexpr int kMaxNice = 19;
constexpr double kBaseSliceNs = 1.4e6;
constexpr double kSliceExponent = 2.64;
constexpr double kMinSliceNs = 0.1e6;
constexpr double kMaxSliceNs = 20e6;

/// struct sched_attr of linux/sched/types.h, which clashes with <sched.h> of newer C libraries.
struct SchedAttr {
  uint32_t size;
  uint32_t sched_policy;
  uint64_t sched_flags;
  int32_t sched_nice;
  uint32_t sched_priority;
  uint64_t sched_runtime;
  uint64_t sched_deadline;
  uint64_t sched_period;
  uint32_t sched_util_min;
  uint32_t sched_util_max;
};
static_assert(sizeof(SchedAttr) == 56);

bool GetAttr(int32_t tid, SchedAttr& attr) {
  attr = {};
  return syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0) == 0;
}

SchedParams Params(const SchedAttr& attr) {
  return {.policy = attr.sched_policy,
          .nice = attr.sched_nice,
          .slice_ns = attr.sched_runtime,
          .flags = attr.sched_flags};
}

bool IsFair(uint32_t policy) { return policy == 0 || policy == 3 || policy == 5; }

}  // namespace

int NiceOf(double action, int own_nice) {
  return std::clamp(own_nice + static_cast<int>(std::lround(10.0 * action)), kMinNice, kMaxNice);
}

uint64_t SliceNsOf(double action) {
  return static_cast<uint64_t>(
      std::clamp(kBaseSliceNs * std::exp(kSliceExponent * action), kMinSliceNs, kMaxSliceNs));
}

std::optional<SchedParams> ReadSched(int32_t tid, int* error) {
  SchedAttr attr;
  if (GetAttr(tid, attr)) return Params(attr);
  if (error != nullptr) *error = errno;
  return std::nullopt;
}

ApplyResult WriteSched(int32_t tid, int nice, uint64_t slice_ns, SchedParams* now) {
  SchedAttr attr;
  if (!GetAttr(tid, attr)) return errno == ESRCH ? ApplyResult::kGone : ApplyResult::kRefused;
  if (!IsFair(attr.sched_policy)) return ApplyResult::kRefused;
  attr.size = sizeof(attr);
  attr.sched_nice = nice;
  attr.sched_runtime = slice_ns;
  // The clamps read back as values even where none was ever set; without their flags they stay.
  if (syscall(SYS_sched_setattr, tid, &attr, 0) != 0) {
    return errno == ESRCH ? ApplyResult::kGone : ApplyResult::kRefused;
  }
  SchedAttr after;
  if (!GetAttr(tid, after)) return ApplyResult::kGone;
  if (now != nullptr) *now = Params(after);
  const bool slice_kept =
      slice_ns == 0 || after.sched_runtime == 0 || after.sched_runtime == slice_ns;
  return after.sched_nice == nice && slice_kept ? ApplyResult::kApplied : ApplyResult::kMismatch;
}

uint64_t StartNsOf(int32_t tid) {
  std::ifstream file(fmt::format("/proc/{}/stat", tid));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // Field 22, counted from behind the command name, which may hold spaces and parentheses.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  size_t at = name_end + 2;
  for (int field = 3; field < 22 && at != std::string::npos; ++field) {
    at = text.find(' ', at);
    if (at != std::string::npos) ++at;
  }
  if (at == std::string::npos) return 0;
  const uint64_t ticks = std::strtoull(text.c_str() + at, nullptr, 10);
  return ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

}  // namespace kernelx
