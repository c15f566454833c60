// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/nn/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"

namespace kernelx {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::string_view kMend = "write the file again";

[[noreturn]] void Bad(const std::string& source, const std::string& what) {
  throw Error(ErrorCode::kBadInput, fmt::format("{}: {}; {}", source, what, kMend));
}

template <typename T>
bool AllFinite(std::string_view bytes) {
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + i, sizeof(T));
    if (!std::isfinite(value)) return false;
  }
  return true;
}

/// The JSON header; refuses duplicate keys (which nlohmann would overwrite) and deep nesting.
Json ParseHeader(std::string_view text, const std::string& source) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > 8) Bad(source, "header nests more than 8 levels");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!keys.back().insert(key).second) Bad(source, fmt::format("key '{}' stands twice", key));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& e) {
    Bad(source, fmt::format("header is not JSON ({})", e.what()));
  }
}

uint64_t Unsigned(const Json& value, const std::string& source, const std::string& name) {
  if (!value.is_number_unsigned()) {
    Bad(source, fmt::format("tensor '{}' has the size or offset {}", name, value.dump()));
  }
  return value.get<uint64_t>();
}

/// What the header says of a tensor, checked as far as it goes alone.
struct Entry {
  std::string name;
  bool wide;
  std::vector<size_t> shape;
  uint64_t begin, end;
};

Entry ReadEntry(const std::string& name, const Json& json, const std::string& source) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets") || !json["shape"].is_array() ||
      !json["data_offsets"].is_array() || json["data_offsets"].size() != 2) {
    Bad(source, fmt::format("tensor '{}' must have exactly dtype, shape and data_offsets", name));
  }
  const Json& type = json["dtype"];
  if (type != "F32" && type != "F64") {
    Bad(source,
        fmt::format("tensor '{}' has dtype {}, only F32 and F64 are read", name, type.dump()));
  }
  Entry entry{.name = name,
              .wide = type == "F64",
              .shape = {},
              .begin = Unsigned(json["data_offsets"][0], source, name),
              .end = Unsigned(json["data_offsets"][1], source, name)};
  uint64_t bytes = entry.wide ? 8 : 4;
  for (const Json& size : json["shape"]) {
    entry.shape.push_back(Unsigned(size, source, name));
    if (__builtin_mul_overflow(bytes, entry.shape.back(), &bytes)) {
      Bad(source,
          fmt::format("tensor '{}' has the shape {}, which overflows", name, json["shape"].dump()));
    }
  }
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    Bad(source, fmt::format("tensor '{}' spans bytes {} to {}, its shape {} takes {}", name,
                            entry.begin, entry.end, json["shape"].dump(), bytes));
  }
  return entry;
}

}  // namespace

template <typename T>
void Safetensors::AddValues(const std::string& name, Shape shape, std::span<const T> values) {
  size_t count = 1;
  for (const size_t size : shape) count *= size;
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  std::string_view why;
  if (count != values.size()) why = "does not have as many values as its shape says";
  if (!AllFinite<T>(bytes)) why = "holds a value that is not finite";
  if (tensors_.contains(name) || name == "__metadata__") why = "has a name that is taken";
  if (!why.empty()) {
    throw Error(ErrorCode::kUsage, fmt::format("[nn.Safetensors.Add] tensor '{}', shape [{}], {} "
                                               "values: {}; mend it before saving",
                                               name, fmt::join(shape, ", "), values.size(), why));
  }
  tensors_[name] = {.wide = sizeof(T) == 8, .shape = std::move(shape), .bytes = std::move(bytes)};
}

void Safetensors::Add(const std::string& name, Shape shape, std::span<const float> values) {
  AddValues(name, std::move(shape), values);
}

void Safetensors::Add(const std::string& name, Shape shape, std::span<const double> values) {
  AddValues(name, std::move(shape), values);
}

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

const Safetensors::Shape& Safetensors::ShapeOf(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) Bad(source_, fmt::format("tensor '{}' is missing", name));
  return found->second.shape;
}

const Safetensors::Tensor& Safetensors::Find(const std::string& name, bool wide,
                                             const Shape& shape) const {
  const Shape& found = ShapeOf(name);
  const Tensor& tensor = tensors_.at(name);
  if (tensor.wide != wide || found != shape) {
    Bad(source_,
        fmt::format("tensor '{}' is {} [{}], expected {} [{}]", name, tensor.wide ? "F64" : "F32",
                    fmt::join(found, ", "), wide ? "F64" : "F32", fmt::join(shape, ", ")));
  }
  return tensor;
}

std::vector<float> Safetensors::Float(const std::string& name, const Shape& shape) const {
  const Tensor& tensor = Find(name, false, shape);
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

std::vector<double> Safetensors::Double(const std::string& name, const Shape& shape) const {
  const Tensor& tensor = Find(name, true, shape);
  std::vector<double> values(tensor.bytes.size() / sizeof(double));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

const std::string& Safetensors::Meta(const std::string& key) const {
  const auto found = metadata.find(key);
  if (found == metadata.end()) Bad(source_, fmt::format("metadata '{}' is missing", key));
  return found->second;
}

std::string Safetensors::Serialise() const {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::string data;
  for (const bool wide : {true, false}) {  // wide ones first: all stay aligned
    for (const auto& [name, tensor] : tensors_) {
      if (tensor.wide != wide) continue;
      header[name] = {{"dtype", wide ? "F64" : "F32"},
                      {"shape", tensor.shape},
                      {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
      data += tensor.bytes;
    }
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof(length));
  return file + text + data;
}

void Safetensors::Save(const std::string& path) const { WriteFileAtomically(path, Serialise()); }

Safetensors Safetensors::Parse(std::string_view bytes, const std::string& source) {
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) Bad(source, fmt::format("only {} bytes", bytes.size()));
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMaxHeaderBytes || length > bytes.size() - sizeof(length)) {
    Bad(source, fmt::format("header of {} bytes in a file of {}: cut short, or no safetensors file",
                            length, bytes.size()));
  }
  const std::string_view text = bytes.substr(sizeof(length), length);
  const std::string_view data = bytes.substr(sizeof(length) + length);
  if (text.empty() || text.front() != '{') Bad(source, "header does not begin with '{'");
  const Json header = ParseHeader(text, source);

  Safetensors file;
  file.source_ = source;
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__") {
      entries.push_back(ReadEntry(name, json, source));
      continue;
    }
    if (!json.is_object()) Bad(source, "__metadata__ is not an object");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) Bad(source, fmt::format("metadata '{}' is not a string", key));
      file.metadata[key] = value.get<std::string>();
    }
  }
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  uint64_t at = 0;
  for (Entry& entry : entries) {
    if (entry.begin != at || entry.end > data.size()) {
      Bad(source,
          fmt::format("tensor '{}' spans bytes {} to {}, expected it to begin at {} and end "
                      "within {}: overlap, hole or cut",
                      entry.name, entry.begin, entry.end, at, data.size()));
    }
    at = entry.end;
    const std::string_view values = data.substr(entry.begin, entry.end - entry.begin);
    if (!(entry.wide ? AllFinite<double>(values) : AllFinite<float>(values))) {
      Bad(source, fmt::format("tensor '{}' holds a value that is not finite", entry.name));
    }
    file.tensors_[entry.name] = {
        .wide = entry.wide, .shape = std::move(entry.shape), .bytes = std::string(values)};
  }
  if (at != data.size()) {
    Bad(source, fmt::format("{} bytes after the last tensor", data.size() - at));
  }
  return file;
}

Safetensors Safetensors::Load(const std::string& path) {
  const MappedFile file(path);
  return Parse(file.bytes(), path);
}

}  // namespace kernelx
