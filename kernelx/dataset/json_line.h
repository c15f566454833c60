// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// One line of JSON, read strictly: the checked access both row parsers share. A function that
// returns false has filled the fault; nothing here throws for bad input or allocates for good.
#pragma once

#include <simdjson.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernelx/dataset/quarantine.h"
#include "kernelx/dataset/transition.h"

namespace kernelx {

/// Why a line is no row: "what (value); what belongs there".
struct LineFault {
  BadKind kind = BadKind::kNotJson;
  std::string why;
  bool Set(BadKind new_kind, std::string new_why) {
    kind = new_kind;
    why = std::move(new_why);
    return false;
  }
};

class JsonLine {
 public:
  JsonLine();

  /// Parses `line` (no newline in it; `TextChunk::kPadding` readable bytes must follow) into its
  /// object, valid until the next call.
  bool Parse(std::string_view line, simdjson::dom::object& object, LineFault& fault);

 private:
  simdjson::dom::parser parser_;
};

/// The values of the keys a reader knows, by index into `names`.
template <size_t N>
struct KnownKeys {
  std::array<simdjson::dom::element, N> values{};
  uint32_t present = 0;  ///< bit i: names[i] is there
};

bool DuplicateKey(std::string_view path, std::string_view key, LineFault& fault);
bool MissingKey(std::string_view path, std::string_view key, LineFault& fault);
/// Whether one of `keys` comes twice.
bool HasDuplicate(std::vector<std::string_view>& keys, std::string_view& duplicate);

/// Finds the known keys of `object`, refuses a duplicate key and the absence of one of `required`
/// (bits). `path` names the object in faults, e.g. "state_t"; empty for the line's own.
template <size_t N>
bool ReadKeys(simdjson::dom::object object, const std::array<std::string_view, N>& names,
              uint32_t required, std::string_view path, KnownKeys<N>& keys, LineFault& fault) {
  static_assert(N < 32);
  keys.present = 0;
  size_t expected = 0;  // files keep their order of keys
  std::vector<std::string_view> unknown;
  for (const auto field : object) {
    size_t i = expected;
    if (i >= N || names[i] != field.key) {
      for (i = 0; i < N && names[i] != field.key; ++i) {
      }
    }
    if (i == N) {
      unknown.push_back(field.key);
      continue;
    }
    if ((keys.present & (1U << i)) != 0) return DuplicateKey(path, field.key, fault);
    keys.present |= 1U << i;
    keys.values[i] = field.value;
    expected = i + 1;
  }
  std::string_view duplicate;
  if (unknown.size() > 1 && HasDuplicate(unknown, duplicate)) {
    return DuplicateKey(path, duplicate, fault);
  }
  if ((keys.present & required) != required) {
    for (size_t i = 0; i < N; ++i) {
      if ((required & ~keys.present & (1U << i)) != 0) return MissingKey(path, names[i], fault);
    }
  }
  return true;
}

/// Where a value stands, for faults: `path`.`key`[`index`]. Costs nothing until a fault names it.
struct Place {
  std::string_view path;
  std::string_view key;
  ptrdiff_t index = -1;
  [[nodiscard]] std::string Name() const;
};

bool ReadUnsigned(simdjson::dom::element value, const Place& place, uint64_t& out,
                  LineFault& fault);
/// Unsigned and at most `max`.
bool ReadUnsignedUpTo(simdjson::dom::element value, uint64_t max, const Place& place, uint64_t& out,
                      LineFault& fault);
bool ReadSigned(simdjson::dom::element value, const Place& place, int64_t& out, LineFault& fault);
/// A finite number; an integer is converted, rounding to nearest.
bool ReadDouble(simdjson::dom::element value, const Place& place, double& out, LineFault& fault);
bool ReadBool(simdjson::dom::element value, const Place& place, bool& out, LineFault& fault);
bool ReadString(simdjson::dom::element value, const Place& place, std::string_view& out,
                LineFault& fault);
bool ReadObject(simdjson::dom::element value, const Place& place, simdjson::dom::object& out,
                LineFault& fault);
/// An array of exactly `out_size` numbers.
bool ReadDoubles(simdjson::dom::element value, const Place& place, double* out, size_t out_size,
                 LineFault& fault);

/// The optional keys both forms share.
bool ReadBehavior(simdjson::dom::element value, Behavior& behavior, LineFault& fault);
bool ReadApplied(simdjson::dom::element value, Applied& applied, LineFault& fault);

/// `value` as the file has it, shortened to fit a message.
std::string Quote(simdjson::dom::element value);
std::string QuoteText(std::string_view text);

}  // namespace kernelx
