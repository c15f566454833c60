// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <limits>

#include "kernelx/dataset/row_parser.h"

namespace kernelx {
namespace {

using simdjson::dom::element;

constexpr uint64_t kMaxId = std::numeric_limits<int32_t>::max();

bool ReadFeatures(element value, std::string_view path, std::array<uint64_t, kRawFeatures>& out,
                  LineFault& fault) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) {
    return fault.Set(BadKind::kWrongType,
                     fmt::format("{} is {}; an array of {} unsigned integers belongs there",
                                 Place{path, "features"}.Name(), Quote(value), kRawFeatures));
  }
  size_t count = 0;
  for (const element item : array) {
    if (count < out.size()) {
      const Place place{path, "features", static_cast<ptrdiff_t>(count)};
      if (!ReadUnsigned(item, place, out[count], fault)) return false;
    }
    ++count;
  }
  if (count == out.size()) return true;
  return fault.Set(BadKind::kFeatureCount,
                   fmt::format("{} has {} values; a raw state has {}",
                               Place{path, "features"}.Name(), count, kRawFeatures));
}

bool ReadState(element value, std::string_view path, RawState& state, LineFault& fault) {
  static constexpr std::array<std::string_view, 4> kKeys = {"features", "timestamp", "pid", "cpu"};
  simdjson::dom::object object;
  KnownKeys<4> keys;
  uint64_t pid = 0;
  uint64_t cpu = 0;
  if (!ReadObject(value, {"", path}, object, fault) ||
      !ReadKeys(object, kKeys, 0b1111, path, keys, fault) ||
      !ReadFeatures(keys.values[0], path, state.features, fault) ||
      !ReadUnsigned(keys.values[1], {path, kKeys[1]}, state.timestamp_ns, fault) ||
      !ReadUnsignedUpTo(keys.values[2], kMaxId, {path, kKeys[2]}, pid, fault) ||
      !ReadUnsignedUpTo(keys.values[3], kMaxId, {path, kKeys[3]}, cpu, fault)) {
    return false;
  }
  state.pid = static_cast<int32_t>(pid);
  state.cpu = static_cast<int32_t>(cpu);
  return true;
}

}  // namespace

bool RawParser::Parse(std::string_view line, RawTransition& row, LineFault& fault) {
  enum Key { kState, kAction, kReward, kNext, kBehavior, kApplied, kComm, kKeys };
  static constexpr std::array<std::string_view, kKeys> kNames = {
      "state_t", "action", "reward", "state_t_next", "behavior", "applied", "comm"};
  constexpr uint32_t kRequired = 0b1111;
  simdjson::dom::object object;
  KnownKeys<kKeys> keys;
  if (!json_.Parse(line, object, fault) || !ReadKeys(object, kNames, kRequired, "", keys, fault) ||
      !ReadState(keys.values[kState], kNames[kState], row.state, fault) ||
      !ReadDouble(keys.values[kAction], {"", kNames[kAction]}, row.action, fault) ||
      !ReadSigned(keys.values[kReward], {"", kNames[kReward]}, row.reward, fault) ||
      !ReadState(keys.values[kNext], kNames[kNext], row.next, fault)) {
    return false;
  }
  const auto has = [&](Key key) { return (keys.present & (1U << key)) != 0; };
  row.behavior = {};
  row.applied = {};
  std::string_view comm;
  if ((has(kBehavior) && !ReadBehavior(keys.values[kBehavior], row.behavior, fault)) ||
      (has(kApplied) && !ReadApplied(keys.values[kApplied], row.applied, fault)) ||
      (has(kComm) && !ReadString(keys.values[kComm], {"", kNames[kComm]}, comm, fault))) {
    return false;
  }
  row.comm.assign(comm);
  return true;
}

}  // namespace kernelx
