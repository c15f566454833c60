// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/record/proc_task.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

namespace kernelx {
namespace {

constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD
// Fields of /proc/PID/stat, counted from the one after the name.
constexpr size_t kParent = 1, kSession = 3, kFlags = 6, kStart = 19, kPolicy = 38;

}  // namespace

std::string Cgroup2Mount() {
  for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (access(fmt::format("{}/cgroup.controllers", mount).c_str(), F_OK) == 0) return mount;
  }
  return "";
}

std::optional<ProcTask> ReadProcTask(int32_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  std::ifstream stat_file(folder + "/stat");
  std::string line;
  if (!std::getline(stat_file, line)) return std::nullopt;
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream words(line.substr(name_end + 1));
  std::vector<std::string> fields;
  for (std::string word; words >> word;) fields.push_back(word);
  if (fields.size() <= kPolicy) return std::nullopt;

  ProcTask task;
  task.tgid = pid;
  task.parent_tgid = std::stoi(fields[kParent]);
  task.session = std::stoi(fields[kSession]);
  task.kernel_thread = (std::stoull(fields[kFlags]) & kKernelThread) != 0;
  const auto ticks_per_s = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  task.start_ns = std::stoull(fields[kStart]) * (1'000'000'000 / ticks_per_s);
  task.sched_class = static_cast<uint8_t>(std::stoul(fields[kPolicy]));

  std::ifstream status(folder + "/status");
  while (std::getline(status, line)) {
    if (line.starts_with("Tgid:")) task.tgid = std::stoi(line.substr(5));
    if (line.starts_with("Uid:")) {
      task.uid = static_cast<uint32_t>(std::stoul(line.substr(4)));
      break;
    }
  }
  std::ifstream cgroups(folder + "/cgroup");
  while (std::getline(cgroups, line)) {
    if (!line.starts_with("0::")) continue;
    task.cgroup = line.substr(3);
    struct stat inode {};
    if (stat((Cgroup2Mount() + task.cgroup).c_str(), &inode) == 0) task.cgroup_id = inode.st_ino;
  }
  return task;
}

}  // namespace kernelx
