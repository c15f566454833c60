// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/record/tracefs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

namespace fs = std::filesystem;

// Of the page header's second word, and the types of an entry (linux/ring_buffer.h).
constexpr uint64_t kCommitBytes = (uint64_t{1} << 20) - 1;
constexpr uint64_t kMissed = uint64_t{1} << 31;
constexpr uint64_t kMissedStored = uint64_t{1} << 30;
constexpr size_t kHeaderBytes = 16;
constexpr uint32_t kPadding = 29;
constexpr uint32_t kTimeExtend = 30;
constexpr uint32_t kTimeStamp = 31;

template <typename T>
T Load(std::span<const std::byte> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

[[noreturn]] void Refuse(const std::string& what, int error) {
  const char* mend = "run `kernelx doctor`";
  if (error == EPERM || error == EACCES) mend = "run as root";
  if (error == ENOENT) mend = "mount it: mount -t tracefs none /sys/kernel/tracing";
  throw Error(ErrorCode::kMissingCapability,
              fmt::format("tracefs sensor: {}: {}; {}", what, std::strerror(error), mend));
}

void WriteTo(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) Refuse(path, errno);
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(fd);
  if (!written) Refuse(fmt::format("{} does not take '{}'", path, text), error);
}

std::string MountOfTracefs() {
  for (const char* mount : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    if (access(fmt::format("{}/instances", mount).c_str(), W_OK | X_OK) == 0) return mount;
    if (errno != ENOENT) Refuse(mount, errno);
  }
  Refuse("/sys/kernel/tracing/instances", ENOENT);
}

/// Removes the instances of recorders that are no more.
void RemoveStale(const std::string& instances) {
  constexpr std::string_view kPrefix = "kernelx-";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(instances, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    pid_t pid = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), pid);
    if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) rmdir(entry.path().c_str());
  }
}

}  // namespace

size_t TraceFormat::at(const std::string& field) const {
  const auto found = offsets.find(field);
  if (found != offsets.end()) return found->second;
  throw Error(ErrorCode::kMissingCapability,
              fmt::format("tracefs sensor: the kernel's event {} has no field '{}'; use the BPF "
                          "sensor (`kernelx doctor`)",
                          id, field));
}

TraceFormat ParseTraceFormat(const std::string& text) {
  TraceFormat format;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("ID: ")) format.id = static_cast<uint16_t>(std::stoul(line.substr(4)));
    const size_t offset = line.find("offset:");
    if (line.find("field:") == std::string::npos || offset == std::string::npos) continue;
    std::string name = line.substr(0, line.find(';'));
    name = name.substr(name.rfind(' ') + 1);
    format.offsets[name.substr(0, name.find('['))] = std::stoul(line.substr(offset + 7));
  }
  return format;
}

uint64_t ReadTracePage(std::span<const std::byte> page, const TraceTake& take) {
  if (page.size() < kHeaderBytes) return 0;
  uint64_t now = Load<uint64_t>(page, 0);
  const auto commit = Load<uint64_t>(page, 8);
  const size_t end = std::min<size_t>(page.size(), kHeaderBytes + (commit & kCommitBytes));
  uint64_t lost = 0;
  if ((commit & kMissed) != 0) {
    lost = 1;
    if ((commit & kMissedStored) != 0 && end + 8 <= page.size()) {
      lost = std::max<uint64_t>(1, Load<uint64_t>(page, end));
    }
  }
  for (size_t at = kHeaderBytes; at + 4 <= end;) {
    const auto head = Load<uint32_t>(page, at);
    const uint32_t type = head & 31, delta = head >> 5;
    const uint64_t word = at + 8 <= end ? Load<uint32_t>(page, at + 4) : 0;
    if (type == kTimeExtend) {
      now += (word << 27) + delta;
      at += 8;
    } else if (type == kTimeStamp) {
      constexpr uint64_t kHigh = ~((uint64_t{1} << 59) - 1);
      now = (now & kHigh) | ((word << 27) + delta);
      at += 8;
    } else if (type == kPadding) {
      if (delta == 0) break;
      now += delta;
      at += 4 + word;
    } else {
      now += delta;
      const size_t begin = type == 0 ? at + 8 : at + 4;
      const size_t next = type == 0 ? at + 4 + word : begin + size_t{type} * 4;
      if (next > end || next <= at + 4 || begin > next) break;
      take(now, page.subspan(begin, next - begin));
      at = next;
    }
  }
  return lost;
}

TraceInstance::TraceInstance(size_t buffer_bytes) {
  static std::atomic<int> number{0};
  const std::string mount = MountOfTracefs();
  RemoveStale(mount + "/instances");
  path_ = fmt::format("{}/instances/kernelx-{}-{}", mount, getpid(), number++);
  if (mkdir(path_.c_str(), 0700) != 0) Refuse(path_, errno);
  try {
    // Not the header's size but the kernel's: sub-buffers may be larger than a page.
    std::ifstream header(mount + "/events/header_page");
    std::stringstream text;
    text << header.rdbuf();
    const size_t data = text.str().rfind("size:");
    const size_t bytes = data == std::string::npos ? 4080 : std::stoul(text.str().substr(data + 5));
    page_.resize(kHeaderBytes + bytes);
    WriteTo(path_ + "/trace_clock", "mono");
    const auto cpus = static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    WriteTo(path_ + "/buffer_size_kb",
            std::to_string(std::max<size_t>(8, buffer_bytes / cpus / 1024)));
  } catch (...) {
    Close();
    throw;
  }
}

TraceInstance::~TraceInstance() { Close(); }

void TraceInstance::Close() {
  for (const Pipe& pipe : pipes_) close(pipe.fd);
  pipes_.clear();
  // A reader that is just closing keeps the instance busy for a moment.
  for (int i = 0; i < 50 && rmdir(path_.c_str()) != 0 && errno == EBUSY; ++i) usleep(2000);
}

TraceFormat TraceInstance::Enable(const std::string& event) {
  const std::string folder = fmt::format("{}/events/{}", path_, event);
  std::ifstream file(folder + "/format");
  if (!file) Refuse(folder, errno);
  std::stringstream text;
  text << file.rdbuf();
  WriteTo(folder + "/enable", "1");
  return ParseTraceFormat(text.str());
}

void TraceInstance::Open() {
  for (const auto& entry : fs::directory_iterator(path_ + "/per_cpu")) {
    const std::string name = entry.path().filename();
    const std::string pipe = entry.path().string() + "/trace_pipe_raw";
    const int fd = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) Refuse(pipe, errno);
    pipes_.push_back({fd, std::stoi(name.substr(3))});
  }
}

std::span<const std::byte> TraceInstance::NextPage(size_t index) {
  const ssize_t got = read(pipes_[index].fd, page_.data(), page_.size());
  if (got <= 0) return {};
  return std::span<const std::byte>(page_).first(static_cast<size_t>(got));
}

}  // namespace kernelx
