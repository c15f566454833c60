// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/act/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernelx/ground/error.h"

namespace kernelx {

namespace fs = std::filesystem;

std::string RunFolder() {
  const char* chosen = std::getenv("KERNELX_RUN_DIR");
  const std::string folder = chosen != nullptr && *chosen != '\0' ? chosen : "/run/kernelx";
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed || access(folder.c_str(), W_OK) != 0) {
    throw Error(ErrorCode::kMissingCapability,
                fmt::format("{}: {}; run as root, or name a folder of your own in KERNELX_RUN_DIR",
                            folder, failed ? failed.message() : std::strerror(errno)));
  }
  return folder;
}

struct Journal::Header {
  static constexpr uint64_t kMagic = 0x316c6e726a786b00;  // "kxjrnl1"
  uint64_t magic = 0;
  uint64_t capacity = 0;
};

namespace {

constexpr size_t kFileBytes = 4096 + Journal::kCapacity * sizeof(JournalEntry);

void* Map(int fd, const std::string& path) {
  void* memory = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    close(fd);
    throw Error(ErrorCode::kFile, fmt::format("{}: {}", path, std::strerror(error)));
  }
  return memory;
}

/// /proc shows start times in clock ticks; the sensor has nanoseconds.
bool SameStart(uint64_t a_ns, uint64_t b_ns) {
  const uint64_t tick_ns = 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return a_ns / tick_ns == b_ns / tick_ns;
}

bool IsSet(const SchedParams& now, int nice, uint64_t slice_ns) {
  return now.nice == nice && (slice_ns == 0 || now.slice_ns == slice_ns);
}

Restored TryBack(const JournalEntry& entry, int32_t tid, bool dry_run) {
  const auto now = ReadSched(tid);
  if (!now) return Restored::kGone;
  if (!IsSet(*now, entry.set_nice, entry.set_slice_ns) &&
      !IsSet(*now, entry.earlier_nice, entry.earlier_slice_ns)) {
    return Restored::kForeign;
  }
  if (dry_run) return Restored::kRestored;
  switch (WriteSched(tid, entry.own_nice, entry.own_slice_ns, nullptr)) {
    case ApplyResult::kApplied:
    case ApplyResult::kMismatch:
      return Restored::kRestored;
    case ApplyResult::kGone:
      return Restored::kGone;
    case ApplyResult::kRefused:
      break;
  }
  return Restored::kRefused;
}

/// Whether a task runs with what its maker had been given, and that was not the maker's own.
bool Inherited(const SchedParams& now, const JournalEntry& maker, int nice, uint64_t slice_ns) {
  const bool changed = nice != maker.own_nice || slice_ns != maker.own_slice_ns;
  return changed && IsSet(now, nice, slice_ns);
}

template <typename Visit>
void ForEachTid(const std::string& folder, Visit&& visit) {
  std::error_code gone;
  for (fs::directory_iterator it(folder, gone), end; !gone && it != end; it.increment(gone)) {
    const std::string name = it->path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) visit(std::stoi(name));
  }
}

/// Threads and child processes of touched processes that the journal does not know: they were made
/// while their maker was nudged, and run with its values.
size_t PutBackHeirs(const std::vector<JournalEntry>& touched, bool dry_run) {
  std::unordered_set<int32_t> known;
  std::unordered_map<int32_t, std::vector<const JournalEntry*>> by_process;
  for (const JournalEntry& entry : touched) {
    known.insert(entry.pid);
    by_process[entry.tgid].push_back(&entry);
  }
  size_t restored = 0;
  const auto mend = [&](int32_t tid, const std::vector<const JournalEntry*>& makers) {
    if (known.contains(tid)) return;
    const auto now = ReadSched(tid);
    if (!now) return;
    for (const JournalEntry* maker : makers) {
      // Its maker may have been given something else since.
      if (!Inherited(*now, *maker, maker->set_nice, maker->set_slice_ns) &&
          !Inherited(*now, *maker, maker->earlier_nice, maker->earlier_slice_ns)) {
        continue;
      }
      restored += TryBack(*maker, tid, dry_run) == Restored::kRestored ? 1 : 0;
      return;
    }
  };
  for (const auto& [tgid, makers] : by_process) {
    ForEachTid(fmt::format("/proc/{}/task", tgid), [&](int32_t tid) {
      mend(tid, makers);
      std::ifstream children(fmt::format("/proc/{}/task/{}/children", tgid, tid));
      for (int32_t child = 0; children >> child;) {
        if (by_process.contains(child)) continue;
        ForEachTid(fmt::format("/proc/{}/task", child), [&](int32_t t) { mend(t, makers); });
      }
    });
  }
  return restored;
}

}  // namespace

Journal::Journal(int fd, void* memory)
    : fd_(fd),
      header_(static_cast<Header*>(memory)),
      entries_(reinterpret_cast<JournalEntry*>(static_cast<char*>(memory) + 4096)) {}

Journal::Journal(Journal&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      header_(std::exchange(other.header_, nullptr)),
      entries_(std::exchange(other.entries_, nullptr)),
      hint_(other.hint_) {}

Journal::~Journal() {
  if (header_ != nullptr) munmap(header_, kFileBytes);
  if (fd_ >= 0) close(fd_);
}

Journal Journal::Create(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0) {
    const size_t left = Open(path).size();
    if (left > 0) {
      throw Error(ErrorCode::kState,
                  fmt::format("{}: {} tasks still have what a killed run gave them; put them back "
                              "with `kernelx restore`",
                              path, left));
    }
  }
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, kFileBytes) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    throw Error(ErrorCode::kFile, fmt::format("{}: {}", path, std::strerror(error)));
  }
  Journal journal(fd, Map(fd, path));
  journal.header_->capacity = kCapacity;
  journal.header_->magic = Header::kMagic;
  return journal;
}

Journal Journal::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    throw Error(ErrorCode::kFile, fmt::format("{}: {}", path, std::strerror(error)));
  }
  if (static_cast<size_t>(status.st_size) != kFileBytes) {
    close(fd);
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: {} bytes; this is no journal of this version", path, status.st_size));
  }
  Journal journal(fd, Map(fd, path));
  if (journal.header_->magic != Header::kMagic || journal.header_->capacity != kCapacity) {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: this is no journal of this version", path));
  }
  return journal;
}

JournalEntry* Journal::Add(int32_t pid, int32_t tgid, uint64_t start_ns, int own_nice,
                           uint64_t own_slice_ns) {
  for (size_t tried = 0; tried < kCapacity; ++tried) {
    JournalEntry& entry = entries_[(hint_ + tried) % kCapacity];
    if (entry.valid != 0) continue;
    hint_ = (hint_ + tried + 1) % kCapacity;
    entry = {.pid = pid,
             .tgid = tgid,
             .start_ns = start_ns,
             .own_nice = own_nice,
             .set_nice = own_nice,
             .earlier_nice = own_nice,
             .own_slice_ns = own_slice_ns,
             .set_slice_ns = own_slice_ns,
             .earlier_slice_ns = own_slice_ns};
    std::atomic_ref(entry.valid).store(1, std::memory_order_release);
    return &entry;
  }
  return nullptr;
}

void Journal::Intend(JournalEntry& entry, int nice, uint64_t slice_ns) {
  entry.earlier_nice = entry.set_nice;
  entry.earlier_slice_ns = entry.set_slice_ns;
  std::atomic_signal_fence(std::memory_order_release);
  entry.set_nice = nice;
  entry.set_slice_ns = slice_ns;
  std::atomic_thread_fence(std::memory_order_release);
}

void Journal::Remove(JournalEntry& entry) {
  std::atomic_ref(entry.valid).store(0, std::memory_order_release);
}

Restored Journal::PutBack(JournalEntry& entry) {
  Restored outcome = Restored::kGone;
  if (SameStart(StartNsOf(entry.pid), entry.start_ns)) outcome = TryBack(entry, entry.pid, false);
  if (outcome != Restored::kRefused) Remove(entry);
  return outcome;
}

size_t Journal::size() const {
  return static_cast<size_t>(
      std::count_if(entries_, entries_ + kCapacity, [](const auto& e) { return e.valid != 0; }));
}

RestoreReport Journal::RestoreAll(bool dry_run) {
  RestoreReport report;
  std::vector<JournalEntry> touched;
  for (size_t i = 0; i < kCapacity; ++i) {
    if (entries_[i].valid == 0) continue;
    touched.push_back(entries_[i]);
    Restored outcome = Restored::kGone;
    if (SameStart(StartNsOf(entries_[i].pid), entries_[i].start_ns)) {
      outcome = TryBack(entries_[i], entries_[i].pid, dry_run);
    }
    report.restored += outcome == Restored::kRestored;
    report.gone += outcome == Restored::kGone;
    report.foreign += outcome == Restored::kForeign;
    report.refused += outcome == Restored::kRefused;
    if (!dry_run && outcome != Restored::kRefused) Remove(entries_[i]);
  }
  report.inherited = PutBackHeirs(touched, dry_run);
  return report;
}

}  // namespace kernelx
