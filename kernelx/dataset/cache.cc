// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/cache.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>

#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"
#include "kernelx/ground/parallel.h"

namespace kernelx {
namespace {

constexpr char kMagic[8] = {'K', 'X', 'C', 'A', 'C', 'H', 'E', '\n'};
constexpr uint32_t kVersion = 1;
constexpr uint32_t kByteOrder = 0x01020304;
constexpr size_t kAlignment = 64;
constexpr char kZeros[kAlignment] = {};

/// Sections of the payload in file order; each begins at a multiple of `kAlignment`.
enum Section {
  kStates,
  kNextStates,
  kAction,
  kReward,
  kTimestamp,
  kNextTimestamp,
  kStart,
  kDelta,
  kBehavior,
  kApplied,
  kPid,
  kCpu,
  kComm,
  kCommNames,  // each name and a zero byte
  kSections
};

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint64_t source_bytes;
  uint64_t source_hash;   // XXH3-64 of the source file as it is on disk
  uint64_t sidecar_hash;  // XXH3-64 of features.json; of nothing when there is none
  uint64_t rows;
  uint32_t feature_count;
  uint32_t columns;  // `Column` bits
  uint64_t section_bytes[kSections];
  uint64_t reserved;      // 0
  uint64_t payload_hash;  // XXH3-64 of all that follows the header
  uint64_t header_hash;   // XXH3-64 of the header before this field
};
static_assert(std::is_trivially_copyable_v<Header>);
static_assert(sizeof(Header) == 192 && sizeof(Header) % kAlignment == 0);
static_assert(offsetof(Header, header_hash) == sizeof(Header) - 8);

// The stored structs: a change of layout needs a new `kVersion`.
static_assert(std::is_trivially_copyable_v<Delta> && sizeof(Delta) == 48);
static_assert(std::is_trivially_copyable_v<Behavior> && sizeof(Behavior) == 24);
static_assert(std::is_trivially_copyable_v<Applied> && sizeof(Applied) == 24);
static_assert(sizeof(bool) == 1 && sizeof(DrawMode) == 1);

size_t Padded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t Hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

using HashState = std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)>;
HashState NewHash() {
  HashState state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  return state;
}

/// The hash of a file, giving the mapped pages back as it goes: they do not count as memory in use.
uint64_t HashMapped(const MappedFile& file) {
  constexpr size_t kPiece = size_t{4} << 20;
  const HashState state = NewHash();
  for (size_t at = 0; at < file.bytes().size(); at += kPiece) {
    const std::string_view piece = file.bytes().substr(at, kPiece);
    XXH3_64bits_update(state.get(), piece.data(), piece.size());
    ::madvise(const_cast<char*>(piece.data()), piece.size(), MADV_DONTNEED);
  }
  return XXH3_64bits_digest(state.get());
}

template <typename T>
std::string_view Bytes(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

/// Whether a section of `bytes` holds `rows` values of `size` bytes, or may be absent and is.
bool Fits(uint64_t bytes, uint64_t rows, size_t size, bool optional) {
  return bytes == rows * size || (optional && bytes == 0);
}

bool SectionsFit(const Header& header) {
  const uint64_t rows = header.rows;
  const uint64_t values = rows * header.feature_count;
  const auto fits = [&](Section section, uint64_t count, size_t size, bool optional = false) {
    return Fits(header.section_bytes[section], count, size, optional);
  };
  return fits(kStates, values, 8) && fits(kNextStates, values, 8) && fits(kAction, rows, 8) &&
         fits(kReward, rows, 8) && fits(kTimestamp, rows, 8) && fits(kPid, rows, 4) &&
         fits(kCpu, rows, 4) && fits(kNextTimestamp, rows, 8, true) &&
         fits(kStart, rows, 8, true) && fits(kDelta, rows, sizeof(Delta), true) &&
         fits(kBehavior, rows, sizeof(Behavior), true) &&
         fits(kApplied, rows, sizeof(Applied), true) && fits(kComm, rows, 4, true);
}

/// The map of a cache file whose bytes are as they were written, or null.
std::shared_ptr<MappedFile> MapChecked(const std::string& path, Header& header) {
  if (!std::filesystem::is_regular_file(path)) return nullptr;
  const auto map = std::make_shared<MappedFile>(path);
  const std::string_view bytes = map->bytes();
  if (bytes.size() < sizeof(Header)) return nullptr;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.version != kVersion ||
      header.byte_order != kByteOrder ||
      header.header_hash != Hash(bytes.substr(0, offsetof(Header, header_hash))) ||
      !SectionsFit(header)) {
    return nullptr;
  }
  size_t end = sizeof(Header);
  for (const uint64_t section : header.section_bytes) end += Padded(section);
  return end == bytes.size() ? map : nullptr;
}

template <typename T>
void SetView(std::string_view bytes, std::span<const T>& view) {
  view = {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

using Sections = std::array<std::string_view, kSections>;

void HashSections(const Sections& sections, Header& header) {
  const HashState state = NewHash();
  for (int i = 0; i < kSections; ++i) {
    header.section_bytes[i] = sections[i].size();
    XXH3_64bits_update(state.get(), sections[i].data(), sections[i].size());
    XXH3_64bits_update(state.get(), kZeros, Padded(sections[i].size()) - sections[i].size());
  }
  header.payload_hash = XXH3_64bits_digest(state.get());
  header.header_hash =
      Hash({reinterpret_cast<const char*>(&header), offsetof(Header, header_hash)});
}

}  // namespace

std::string HexDigest(uint64_t hash) { return fmt::format("{:016x}", hash); }

template <typename AnyDataset, typename Visit>
void DatasetCache::VisitColumns(AnyDataset& dataset, Visit&& visit) {
  visit(kStates, dataset.states_);
  visit(kNextStates, dataset.next_states_);
  visit(kAction, dataset.action_);
  visit(kReward, dataset.reward_);
  visit(kTimestamp, dataset.timestamp_ns_);
  visit(kNextTimestamp, dataset.next_timestamp_ns_);
  visit(kStart, dataset.start_ns_);
  visit(kDelta, dataset.delta_);
  visit(kBehavior, dataset.behavior_);
  visit(kApplied, dataset.applied_);
  visit(kPid, dataset.pid_);
  visit(kCpu, dataset.cpu_);
  visit(kComm, dataset.comm_);
}

std::optional<Dataset> DatasetCache::Open(const std::string& source, const std::string& sidecar,
                                          const std::vector<std::string>& feature_names,
                                          unsigned threads) {
  Header header;
  std::shared_ptr<MappedFile> map;
  try {
    map = MapChecked(PathFor(source), header);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (map == nullptr || header.feature_count != feature_names.size() ||
      header.sidecar_hash != Hash(sidecar)) {
    return std::nullopt;
  }
  const MappedFile original(source);
  if (original.bytes().size() != header.source_bytes) return std::nullopt;
  const std::string_view payload = map->bytes().substr(sizeof(Header));
  bool same[2] = {false, false};
  ParallelFor(2, threads, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      same[i] = i == 0 ? HashMapped(original) == header.source_hash
                       : Hash(payload) == header.payload_hash;
    }
  });
  if (!same[0] || !same[1]) return std::nullopt;

  Sections sections;
  size_t at = 0;
  for (int i = 0; i < kSections; ++i) {
    sections[i] = payload.substr(at, header.section_bytes[i]);
    at += Padded(header.section_bytes[i]);
  }
  Dataset dataset;
  dataset.size_ = header.rows;
  dataset.feature_count_ = header.feature_count;
  dataset.columns_ = header.columns;
  dataset.feature_names_ = feature_names;
  dataset.sidecar_ = sidecar;
  dataset.source_ = source;
  dataset.digest_ = HexDigest(header.source_hash);
  VisitColumns(dataset, [&](Section section, auto& column) { SetView(sections[section], column); });
  for (std::string_view names = sections[kCommNames]; !names.empty();) {
    const size_t end = names.find('\0');
    dataset.comm_names_.emplace_back(names.substr(0, end));
    names.remove_prefix(end + 1);
  }
  dataset.storage_ = std::move(map);
  return dataset;
}

bool DatasetCache::Write(const std::string& source, const Dataset& dataset, uint64_t source_bytes,
                         uint64_t source_hash) {
  std::string names;
  for (const auto& name : dataset.comm_names_) {
    if (name.find('\0') != std::string::npos) return false;
    names.append(name).push_back('\0');
  }
  Sections sections;
  VisitColumns(dataset,
               [&](Section section, const auto& column) { sections[section] = Bytes(column); });
  sections[kCommNames] = names;

  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.byte_order = kByteOrder;
  header.source_bytes = source_bytes;
  header.source_hash = source_hash;
  header.sidecar_hash = Hash(dataset.sidecar_);
  header.rows = dataset.size_;
  header.feature_count = static_cast<uint32_t>(dataset.feature_count_);
  header.columns = dataset.columns_;
  HashSections(sections, header);
  try {
    AtomicFile file(PathFor(source));
    file.Write({reinterpret_cast<const char*>(&header), sizeof header});
    constexpr size_t kPiece = size_t{1} << 20;
    for (const std::string_view section : sections) {
      for (size_t at = 0; at < section.size(); at += kPiece) file.Write(section.substr(at, kPiece));
      file.Write({kZeros, Padded(section.size()) - section.size()});
    }
    file.Commit();
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace kernelx
