// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <limits>

#include "kernelx/dataset/builder.h"
#include "kernelx/dataset/row_parser.h"

namespace kernelx {
namespace {

using simdjson::dom::element;

constexpr uint64_t kMaxId = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMaxSwitches = std::numeric_limits<uint32_t>::max();

bool ReadDelta(element value, Delta& delta, LineFault& fault) {
  static constexpr std::array<std::string_view, 7> kKeys = {
      "exec_ns", "vruntime_ns", "wait_us", "next_wait_us", "voluntary", "involuntary", "sleep_us"};
  simdjson::dom::object object;
  KnownKeys<7> keys;
  uint64_t voluntary = 0;
  uint64_t involuntary = 0;
  const std::string_view path = "delta";
  if (!ReadObject(value, {"", path}, object, fault) ||
      !ReadKeys(object, kKeys, 0b1111111, path, keys, fault) ||
      !ReadUnsigned(keys.values[0], {path, kKeys[0]}, delta.exec_ns, fault) ||
      !ReadSigned(keys.values[1], {path, kKeys[1]}, delta.vruntime_ns, fault) ||
      !ReadUnsigned(keys.values[2], {path, kKeys[2]}, delta.wait_us, fault) ||
      !ReadUnsigned(keys.values[3], {path, kKeys[3]}, delta.next_wait_us, fault) ||
      !ReadUnsignedUpTo(keys.values[4], kMaxSwitches, {path, kKeys[4]}, voluntary, fault) ||
      !ReadUnsignedUpTo(keys.values[5], kMaxSwitches, {path, kKeys[5]}, involuntary, fault) ||
      !ReadUnsigned(keys.values[6], {path, kKeys[6]}, delta.sleep_us, fault)) {
    return false;
  }
  delta.voluntary = static_cast<uint32_t>(voluntary);
  delta.involuntary = static_cast<uint32_t>(involuntary);
  return true;
}

bool ReadFeatures(element value, std::string_view key, const ProcessedShape& shape, double* out,
                  LineFault& fault) {
  if (ReadDoubles(value, {"", key}, out, shape.feature_names.size(), fault)) return true;
  if (fault.kind == BadKind::kFeatureCount) {
    fault.why += shape.from_sidecar ? "; features.json beside the file says so"
                                    : "; without a features.json beside it a file has the seed's "
                                      "ten features, any other set needs one to name them";
  }
  return false;
}

}  // namespace

bool ProcessedParser::Parse(std::string_view line, const ProcessedShape& shape, RowView& row,
                            LineFault& fault) {
  enum Key {
    kState,
    kAction,
    kReward,
    kNextState,
    kPid,
    kCpu,
    kTimestamp,
    kNextTimestamp,
    kStart,
    kDelta,
    kBehavior,
    kApplied,
    kComm,
    kKeys
  };
  static constexpr std::array<std::string_view, kKeys> kNames = {
      "state",          "action", "reward", "next_state", "pid",     "cpu", "timestamp",
      "next_timestamp", "start",  "delta",  "behavior",   "applied", "comm"};
  constexpr uint32_t kRequired = 0b1111111;
  const size_t width = shape.feature_names.size();
  features_.resize(2 * width);
  row = {};
  row.state = features_.data();
  row.next_state = features_.data() + width;
  simdjson::dom::object object;
  KnownKeys<kKeys> keys;
  uint64_t pid = 0;
  uint64_t cpu = 0;
  if (!json_.Parse(line, object, fault) || !ReadKeys(object, kNames, kRequired, "", keys, fault) ||
      !ReadFeatures(keys.values[kState], kNames[kState], shape, features_.data(), fault) ||
      !ReadDouble(keys.values[kAction], {"", kNames[kAction]}, row.action, fault) ||
      !ReadDouble(keys.values[kReward], {"", kNames[kReward]}, row.reward, fault) ||
      !ReadFeatures(keys.values[kNextState], kNames[kNextState], shape, features_.data() + width,
                    fault) ||
      !ReadUnsignedUpTo(keys.values[kPid], kMaxId, {"", kNames[kPid]}, pid, fault) ||
      !ReadUnsignedUpTo(keys.values[kCpu], kMaxId, {"", kNames[kCpu]}, cpu, fault) ||
      !ReadUnsigned(keys.values[kTimestamp], {"", kNames[kTimestamp]}, row.timestamp_ns, fault)) {
    return false;
  }
  row.pid = static_cast<int32_t>(pid);
  row.cpu = static_cast<int32_t>(cpu);

  const auto has = [&](Key key, Column column) {
    const bool there = (keys.present & (1U << key)) != 0;
    if (there) row.present |= static_cast<uint32_t>(column);
    return there;
  };
  if ((has(kNextTimestamp, Column::kNextTimestamp) &&
       !ReadUnsigned(keys.values[kNextTimestamp], {"", kNames[kNextTimestamp]},
                     row.next_timestamp_ns, fault)) ||
      (has(kStart, Column::kStart) &&
       !ReadUnsigned(keys.values[kStart], {"", kNames[kStart]}, row.start_ns, fault)) ||
      (has(kDelta, Column::kDelta) && !ReadDelta(keys.values[kDelta], row.delta, fault)) ||
      (has(kBehavior, Column::kBehavior) &&
       !ReadBehavior(keys.values[kBehavior], row.behavior, fault)) ||
      (has(kApplied, Column::kApplied) &&
       !ReadApplied(keys.values[kApplied], row.applied, fault)) ||
      (has(kComm, Column::kComm) &&
       !ReadString(keys.values[kComm], {"", kNames[kComm]}, row.comm, fault))) {
    return false;
  }
  row.has_delta = (row.present & static_cast<uint32_t>(Column::kDelta)) != 0;
  if (!row.has_delta && shape.recovers_delta) {
    row.delta = RecoverDelta(row.state, row.next_state);
    row.has_delta = true;
  }
  return true;
}

}  // namespace kernelx
