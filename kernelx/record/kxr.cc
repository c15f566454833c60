// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// Goals: nothing written is ever lost to a crash, readers need no luck, small files.
// Non-goals: random access, appending to a file of an earlier run.
//
// A frame holds up to kFrameRecords records. Their kinds come first, a byte each; then the records
// of each kind, transposed: the first 8-byte word of all, the second of all, ... Words of one field
// resemble each other, which zstd uses.
#include "kernelx/record/kxr.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <vector>

#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"

namespace kernelx {
namespace {

constexpr std::array<char, 8> kMagic = {'K', 'X', 'R', '\r', '\n', 0x1a, '\n', 0};
constexpr uint32_t kVersion = 1;
constexpr uint32_t kFrameMagic = 0x4d524658;  // "XFRM"
constexpr uint32_t kEndMagic = 0x444e4558;    // "XEND"
constexpr size_t kFrameRecords = 1024;
constexpr size_t kMaxFrameBytes = size_t{16} << 20;
constexpr int kLevel = 1;

enum Kind : uint8_t { kEvent = 0, kNudge = 1, kGap = 2 };

struct FileHeader {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t about_bytes = 0;  ///< JSON text after this header
  uint32_t event_bytes = 0;  ///< size of each kind of record
  uint32_t nudge_bytes = 0;
  uint32_t gap_bytes = 0;
  uint32_t reserved = 0;
  uint64_t about_hash = 0;  ///< XXH3 of the text
};
static_assert(sizeof(FileHeader) == 40);

struct FrameHeader {
  uint32_t magic = kFrameMagic;
  uint32_t records = 0;
  uint32_t raw_bytes = 0;
  uint32_t stored_bytes = 0;  ///< zstd, after this header
  uint64_t hash = 0;          ///< XXH3 of the stored bytes
};
static_assert(sizeof(FrameHeader) == 24);

struct StoredEvent {
  uint64_t timestamp_ns;
  std::array<uint64_t, kRawFeatures> slots;
  std::array<char, 16> comm;
  uint64_t cgroup_id;
  int32_t pid, cpu;
  int32_t session, parent_tgid;
  uint32_t uid;
  uint8_t sched_class;
  std::array<uint8_t, 3> unused;
};
static_assert(sizeof(StoredEvent) == 248);

struct StoredNudge {
  uint64_t decided_ns, applied_ns, start_ns, slice_ns;
  double action, p_draw, p_zero;
  int32_t pid, nice;
  uint32_t window;
  uint8_t drawn, mode, applied, unused;
};
static_assert(sizeof(StoredNudge) == 72);

struct StoredGap {
  uint64_t at_ns, count;
};
static_assert(sizeof(StoredGap) == 16);

StoredEvent Store(const SchedEvent& event) {
  return {.timestamp_ns = event.state.timestamp_ns,
          .slots = event.state.features,
          .comm = event.comm,
          .cgroup_id = event.cgroup_id,
          .pid = event.state.pid,
          .cpu = event.state.cpu,
          .session = event.session,
          .parent_tgid = event.parent_tgid,
          .uid = event.uid,
          .sched_class = event.sched_class,
          .unused = {}};
}

SchedEvent Restore(const StoredEvent& from) {
  SchedEvent event{.state = {.features = from.slots,
                             .timestamp_ns = from.timestamp_ns,
                             .pid = from.pid,
                             .cpu = from.cpu},
                   .comm = from.comm,
                   .cgroup_id = from.cgroup_id,
                   .session = from.session,
                   .parent_tgid = from.parent_tgid,
                   .uid = from.uid,
                   .sched_class = from.sched_class};
  event.comm.back() = '\0';
  return event;
}

StoredNudge Store(const NudgeRecord& n) {
  return {.decided_ns = n.decided_ns,
          .applied_ns = n.applied_ns,
          .start_ns = n.start_ns,
          .slice_ns = n.slice_ns,
          .action = n.action,
          .p_draw = n.p_draw,
          .p_zero = n.p_zero,
          .pid = n.pid,
          .nice = n.nice,
          .window = n.window,
          .drawn = n.drawn,
          .mode = n.mode,
          .applied = n.applied,
          .unused = 0};
}

NudgeRecord Restore(const StoredNudge& from) {
  return {.pid = from.pid,
          .start_ns = from.start_ns,
          .action = from.action,
          .drawn = from.drawn != 0,
          .mode = from.mode,
          .window = from.window,
          .p_draw = from.p_draw,
          .p_zero = from.p_zero,
          .decided_ns = from.decided_ns,
          .applied_ns = from.applied_ns,
          .applied = from.applied != 0,
          .nice = from.nice,
          .slice_ns = from.slice_ns};
}

/// Records of one kind as columns of words.
template <typename T>
void AppendTransposed(const std::vector<T>& records, std::string& out) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0);
  const size_t begin = out.size(), n = records.size();
  out.resize(begin + n * sizeof(T));
  const char* from = reinterpret_cast<const char*>(records.data());
  for (size_t word = 0; word < sizeof(T) / 8; ++word) {
    for (size_t i = 0; i < n; ++i) {
      std::memcpy(&out[begin + (word * n + i) * 8], from + i * sizeof(T) + word * 8, 8);
    }
  }
}

template <typename T>
std::vector<T> Untransposed(std::string_view& in, size_t n) {
  std::vector<T> records(n);
  char* to = reinterpret_cast<char*>(records.data());
  for (size_t word = 0; word < sizeof(T) / 8; ++word) {
    for (size_t i = 0; i < n; ++i) {
      std::memcpy(to + i * sizeof(T) + word * 8, in.data() + (word * n + i) * 8, 8);
    }
  }
  in.remove_prefix(n * sizeof(T));
  return records;
}

std::string_view Bytes(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

[[noreturn]] void FailBad(const std::string& path, size_t offset, const std::string& what) {
  throw Error(ErrorCode::kBadInput, fmt::format("{}: at byte {}: {}", path, offset, what));
}

}  // namespace

struct KxrWriter::Impl {
  std::string path;
  int fd = -1;
  size_t whole = 0;  ///< bytes up to the end of the last whole frame
  KxrStats stats;
  std::vector<uint8_t> kinds;
  std::vector<StoredEvent> events;
  std::vector<StoredNudge> nudges;
  std::vector<StoredGap> gaps;
  std::string raw, stored;
  bool closed = false;

  void Put(std::string_view bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        const int error = n < 0 ? errno : ENOSPC;
        // What is whole stays; half a frame would read as torn.
        if (ftruncate(fd, static_cast<off_t>(whole)) == 0) lseek(fd, 0, SEEK_END);
        throw Error(ErrorCode::kFile,
                    fmt::format("{}: {}; the recording up to here ({} events) is whole", path,
                                std::strerror(error), stats.events - events.size()));
      }
      done += static_cast<size_t>(n);
    }
    whole += bytes.size();
    stats.bytes = whole;
  }

  void Add(Kind kind) {
    kinds.push_back(kind);
    if (kinds.size() == kFrameRecords) WriteFrame();
  }

  void WriteFrame() {
    if (kinds.empty()) return;
    raw.assign(reinterpret_cast<const char*>(kinds.data()), kinds.size());
    AppendTransposed(events, raw);
    AppendTransposed(nudges, raw);
    AppendTransposed(gaps, raw);
    stored.resize(sizeof(FrameHeader) + ZSTD_compressBound(raw.size()));
    const size_t n =
        ZSTD_compress(stored.data() + sizeof(FrameHeader), stored.size() - sizeof(FrameHeader),
                      raw.data(), raw.size(), kLevel);
    const FrameHeader header{.records = static_cast<uint32_t>(kinds.size()),
                             .raw_bytes = static_cast<uint32_t>(raw.size()),
                             .stored_bytes = static_cast<uint32_t>(n),
                             .hash = XXH3_64bits(stored.data() + sizeof(FrameHeader), n)};
    std::memcpy(stored.data(), &header, sizeof(header));
    Put(std::string_view(stored).substr(0, sizeof(header) + n));
    kinds.clear();
    events.clear();
    nudges.clear();
    gaps.clear();
  }
};

KxrWriter::KxrWriter(const std::string& path, const std::map<std::string, std::string>& about)
    : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (impl_->fd < 0) {
    throw Error(ErrorCode::kFile,
                fmt::format("{}: {}; {}", path, std::strerror(errno),
                            errno == EEXIST ? "a recording is never overwritten: name another file"
                                            : "name a file in a folder that can be written"));
  }
  const std::string text = nlohmann::json(about).dump();
  const FileHeader header{.about_bytes = static_cast<uint32_t>(text.size()),
                          .event_bytes = sizeof(StoredEvent),
                          .nudge_bytes = sizeof(StoredNudge),
                          .gap_bytes = sizeof(StoredGap),
                          .about_hash = XXH3_64bits(text.data(), text.size())};
  impl_->Put(std::string(Bytes(header)) + text);
}

KxrWriter::~KxrWriter() {
  if (impl_->fd < 0) return;
  try {
    Flush();
  } catch (const Error&) {
    // Said by the call that met it first.
  }
  close(impl_->fd);
}

void KxrWriter::Event(const SchedEvent& event) {
  impl_->events.push_back(Store(event));
  ++impl_->stats.events;
  impl_->Add(kEvent);
}

void KxrWriter::Nudge(const NudgeRecord& nudge) {
  impl_->nudges.push_back(Store(nudge));
  ++impl_->stats.nudges;
  impl_->Add(kNudge);
}

void KxrWriter::Gap(const GapRecord& gap) {
  impl_->gaps.push_back({gap.at_ns, gap.count});
  ++impl_->stats.gaps;
  impl_->stats.lost += gap.count;
  impl_->Add(kGap);
}

void KxrWriter::Flush() { impl_->WriteFrame(); }

void KxrWriter::Close() {
  if (impl_->closed) return;
  Flush();
  impl_->Put(Bytes(FrameHeader{.magic = kEndMagic}));
  if (fsync(impl_->fd) != 0) {
    throw Error(ErrorCode::kFile, fmt::format("{}: {}; the end may not be on the disk", impl_->path,
                                              std::strerror(errno)));
  }
  impl_->closed = true;
}

const KxrStats& KxrWriter::stats() const { return impl_->stats; }

bool IsKxr(const std::string& path) {
  std::array<char, kMagic.size()> begin{};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, begin.data(), begin.size());
  close(fd);
  return n == static_cast<ssize_t>(begin.size()) && begin == kMagic;
}

namespace {

class Reader {
 public:
  Reader(const std::string& path, KxrVisitor& visitor)
      : path_(path), file_(path), rest_(file_.bytes()), visitor_(visitor) {}

  KxrStats Read(std::map<std::string, std::string>* about) {
    ReadHeader(about);
    stats_.torn = true;
    while (rest_.size() >= sizeof(FrameHeader)) {
      FrameHeader header;
      std::memcpy(&header, rest_.data(), sizeof(header));
      if (header.magic == kEndMagic) {
        stats_.torn = false;
        break;
      }
      if (header.magic != kFrameMagic || header.raw_bytes > kMaxFrameBytes) {
        FailBad(path_, Offset(), "no frame begins here; the file is damaged");
      }
      if (rest_.size() - sizeof(header) < header.stored_bytes) break;
      ReadFrame(header, rest_.substr(sizeof(header), header.stored_bytes));
      rest_.remove_prefix(sizeof(header) + header.stored_bytes);
    }
    stats_.bytes = file_.bytes().size();
    return stats_;
  }

 private:
  [[nodiscard]] size_t Offset() const { return file_.bytes().size() - rest_.size(); }

  void ReadHeader(std::map<std::string, std::string>* about) {
    FileHeader header;
    if (rest_.size() < sizeof(header)) FailBad(path_, 0, "too short for a recording (.kxr)");
    std::memcpy(&header, rest_.data(), sizeof(header));
    if (header.magic != kMagic) FailBad(path_, 0, "this is no recording (.kxr)");
    if (header.version != kVersion) {
      FailBad(path_, 8,
              fmt::format("version {}, this program reads {}; use a newer kernelx", header.version,
                          kVersion));
    }
    if (header.event_bytes != sizeof(StoredEvent) || header.nudge_bytes != sizeof(StoredNudge) ||
        header.gap_bytes != sizeof(StoredGap)) {
      FailBad(path_, 16, "records of another size than version 1 has; the file is damaged");
    }
    rest_.remove_prefix(sizeof(header));
    const std::string_view text = rest_.substr(0, header.about_bytes);
    if (text.size() != header.about_bytes ||
        XXH3_64bits(text.data(), text.size()) != header.about_hash) {
      FailBad(path_, sizeof(header), "the description is damaged");
    }
    if (about != nullptr)
      *about = nlohmann::json::parse(text).get<std::map<std::string, std::string>>();
    rest_.remove_prefix(text.size());
  }

  void ReadFrame(const FrameHeader& header, std::string_view stored) {
    raw_.resize(header.raw_bytes);
    if (XXH3_64bits(stored.data(), stored.size()) != header.hash ||
        ZSTD_decompress(raw_.data(), raw_.size(), stored.data(), stored.size()) != raw_.size() ||
        raw_.size() < header.records) {
      FailBad(path_, Offset(),
              fmt::format("a frame of {} records does not match its checksum; {} events before it "
                          "are whole",
                          header.records, stats_.events));
    }
    std::string_view raw = raw_;
    const std::string_view kinds = raw.substr(0, header.records);
    raw.remove_prefix(header.records);
    std::array<size_t, 3> counts{};
    for (const char kind : kinds) {
      if (kind < 0 || kind > kGap) FailBad(path_, Offset(), "a record of no known kind");
      ++counts[static_cast<size_t>(kind)];
    }
    if (raw.size() != counts[kEvent] * sizeof(StoredEvent) + counts[kNudge] * sizeof(StoredNudge) +
                          counts[kGap] * sizeof(StoredGap)) {
      FailBad(path_, Offset(), "a frame of the wrong size");
    }
    const auto events = Untransposed<StoredEvent>(raw, counts[kEvent]);
    const auto nudges = Untransposed<StoredNudge>(raw, counts[kNudge]);
    const auto gaps = Untransposed<StoredGap>(raw, counts[kGap]);
    size_t event = 0, nudge = 0, gap = 0;
    for (const char kind : kinds) {
      if (kind == kEvent) {
        visitor_.OnEvent(Restore(events[event++]));
      } else if (kind == kNudge) {
        visitor_.OnNudge(Restore(nudges[nudge++]));
      } else {
        visitor_.OnGap({gaps[gap].at_ns, gaps[gap].count});
        stats_.lost += gaps[gap++].count;
      }
    }
    stats_.events += event;
    stats_.nudges += nudge;
    stats_.gaps += gap;
  }

  std::string path_;
  MappedFile file_;
  std::string_view rest_;
  KxrVisitor& visitor_;
  KxrStats stats_;
  std::string raw_;
};

}  // namespace

KxrStats ReadKxr(const std::string& path, KxrVisitor& visitor,
                 std::map<std::string, std::string>* about) {
  return Reader(path, visitor).Read(about);
}

}  // namespace kernelx
