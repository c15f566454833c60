// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/json_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernelx/dataset/json_fault.h"

namespace kernelx {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

std::string_view TypeName(element value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
      return "an integer";
    case element_type::DOUBLE:
      return "a number";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a truth value";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "unknown";
}

bool WrongType(element value, const Place& place, std::string_view wanted, LineFault& fault) {
  return fault.Set(BadKind::kWrongType, fmt::format("{} is {} ({}) where {} belongs", place.Name(),
                                                    TypeName(value), Quote(value), wanted));
}

bool OutOfRange(element value, const Place& place, std::string_view range, LineFault& fault) {
  return fault.Set(BadKind::kOutOfRange,
                   fmt::format("{} is {}, out of range: {}", place.Name(), Quote(value), range));
}

bool ReadProbability(element value, const Place& place, double& out, LineFault& fault) {
  if (!ReadDouble(value, place, out, fault)) return false;
  return (out >= 0.0 && out <= 1.0) || OutOfRange(value, place, "a probability is 0 to 1", fault);
}

}  // namespace

JsonLine::JsonLine() : parser_(kMaxLineBytes) {
  if (parser_.allocate(size_t{64} << 10, kMaxDepth) != simdjson::SUCCESS) throw std::bad_alloc();
}

bool JsonLine::Parse(std::string_view line, simdjson::dom::object& object, LineFault& fault) {
  if (line.size() > kMaxLineBytes) {
    return fault.Set(BadKind::kTooLong, TooLongWhy(line.size()));
  }
  if (line.size() > parser_.capacity() &&
      parser_.allocate(std::max(line.size(), 2 * parser_.capacity()), kMaxDepth) !=
          simdjson::SUCCESS) {
    throw std::bad_alloc();
  }
  element value;
  const auto error = parser_.parse(line.data(), line.size(), false).get(value);
  if (error != simdjson::SUCCESS) {
    fault = ExplainSyntax(line, error);
    return false;
  }
  if (value.get(object) == simdjson::SUCCESS) return true;
  return fault.Set(BadKind::kWrongShape, fmt::format("the line is {} ({}); a row is an object",
                                                     TypeName(value), Quote(value)));
}

std::string Place::Name() const {
  std::string name(path);
  if (!path.empty() && !key.empty()) name += '.';
  name += key;
  if (index >= 0) name += fmt::format("[{}]", index);
  return "`" + name + "`";
}

bool DuplicateKey(std::string_view path, std::string_view key, LineFault& fault) {
  const std::string name = QuoteText(key);
  return fault.Set(
      BadKind::kDuplicateKey,
      fmt::format("the key {} comes twice; a row has each key once", Place{path, name}.Name()));
}

bool MissingKey(std::string_view path, std::string_view key, LineFault& fault) {
  return fault.Set(BadKind::kMissingKey,
                   fmt::format("the key {} is missing", Place{path, key}.Name()));
}

bool HasDuplicate(std::vector<std::string_view>& keys, std::string_view& duplicate) {
  std::sort(keys.begin(), keys.end());
  const auto found = std::adjacent_find(keys.begin(), keys.end());
  if (found == keys.end()) return false;
  duplicate = *found;
  return true;
}

bool ReadUnsigned(element value, const Place& place, uint64_t& out, LineFault& fault) {
  if (value.get(out) == simdjson::SUCCESS) return true;
  if (value.is_int64()) return OutOfRange(value, place, "it is 0 or more", fault);
  return WrongType(value, place, "an unsigned integer", fault);
}

bool ReadUnsignedUpTo(element value, uint64_t max, const Place& place, uint64_t& out,
                      LineFault& fault) {
  if (!ReadUnsigned(value, place, out, fault)) return false;
  return out <= max || OutOfRange(value, place, fmt::format("it is at most {}", max), fault);
}

bool ReadSigned(element value, const Place& place, int64_t& out, LineFault& fault) {
  if (value.get(out) == simdjson::SUCCESS) return true;
  if (value.is_uint64()) return OutOfRange(value, place, "it is a signed 64-bit integer", fault);
  return WrongType(value, place, "an integer", fault);
}

bool ReadDouble(element value, const Place& place, double& out, LineFault& fault) {
  return value.get(out) == simdjson::SUCCESS || WrongType(value, place, "a number", fault);
}

bool ReadBool(element value, const Place& place, bool& out, LineFault& fault) {
  return value.get(out) == simdjson::SUCCESS || WrongType(value, place, "true or false", fault);
}

bool ReadString(element value, const Place& place, std::string_view& out, LineFault& fault) {
  return value.get(out) == simdjson::SUCCESS || WrongType(value, place, "a string", fault);
}

bool ReadObject(element value, const Place& place, simdjson::dom::object& out, LineFault& fault) {
  return value.get(out) == simdjson::SUCCESS || WrongType(value, place, "an object", fault);
}

bool ReadDoubles(element value, const Place& place, double* out, size_t out_size,
                 LineFault& fault) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return WrongType(value, place, "an array", fault);
  size_t count = 0;
  for (const element item : array) {
    if (count < out_size) {
      const Place at{place.path, place.key, static_cast<ptrdiff_t>(count)};
      if (!ReadDouble(item, at, out[count], fault)) return false;
    }
    ++count;
  }
  if (count == out_size) return true;
  return fault.Set(BadKind::kFeatureCount,
                   fmt::format("{} has {} values where {} belong", place.Name(), count, out_size));
}

bool ReadBehavior(element value, Behavior& behavior, LineFault& fault) {
  static constexpr std::array<std::string_view, 5> kKeys = {"drawn", "mode", "window", "p_draw",
                                                            "p_zero"};
  simdjson::dom::object object;
  KnownKeys<5> keys;
  std::string_view mode;
  uint64_t window = 0;
  const std::string_view path = "behavior";
  if (!ReadObject(value, {"", path}, object, fault) ||
      !ReadKeys(object, kKeys, 0b11111, path, keys, fault) ||
      !ReadBool(keys.values[0], {path, kKeys[0]}, behavior.drawn, fault) ||
      !ReadString(keys.values[1], {path, kKeys[1]}, mode, fault) ||
      !ReadUnsignedUpTo(keys.values[2], std::numeric_limits<uint32_t>::max(), {path, kKeys[2]},
                        window, fault) ||
      !ReadProbability(keys.values[3], {path, kKeys[3]}, behavior.p_draw, fault) ||
      !ReadProbability(keys.values[4], {path, kKeys[4]}, behavior.p_zero, fault)) {
    return false;
  }
  if (mode != "task" && mode != "group") {
    return OutOfRange(keys.values[1], {path, kKeys[1]}, "it is \"task\" or \"group\"", fault);
  }
  behavior.mode = mode == "task" ? DrawMode::kTask : DrawMode::kGroup;
  behavior.window = static_cast<uint32_t>(window);
  behavior.known = true;
  return true;
}

bool ReadApplied(element value, Applied& applied, LineFault& fault) {
  static constexpr std::array<std::string_view, 4> kKeys = {"nice", "slice_ns", "at", "in_force"};
  simdjson::dom::object object;
  KnownKeys<4> keys;
  int64_t nice = 0;
  const std::string_view path = "applied";
  if (!ReadObject(value, {"", path}, object, fault) ||
      !ReadKeys(object, kKeys, 0b1111, path, keys, fault) ||
      !ReadSigned(keys.values[0], {path, kKeys[0]}, nice, fault) ||
      !ReadUnsigned(keys.values[1], {path, kKeys[1]}, applied.slice_ns, fault) ||
      !ReadUnsigned(keys.values[2], {path, kKeys[2]}, applied.at_ns, fault) ||
      !ReadBool(keys.values[3], {path, kKeys[3]}, applied.in_force, fault)) {
    return false;
  }
  if (nice < -20 || nice > 19) {
    return OutOfRange(keys.values[0], {path, kKeys[0]}, "nice is -20 to 19", fault);
  }
  applied.nice = static_cast<int32_t>(nice);
  applied.known = true;
  return true;
}

std::string QuoteText(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string quoted;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  if (text.size() > kMost) quoted += "...";
  return quoted;
}

std::string Quote(element value) {
  if (value.is_array() || value.is_object()) return value.is_array() ? "[...]" : "{...}";
  return QuoteText(simdjson::minify(value));
}

}  // namespace kernelx
