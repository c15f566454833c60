// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The safetensors file format: named arrays and a map of strings. Every model, policy and
// checkpoint of kernelx is such a file, readable by the Python and Rust readers.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kernelx {

/// The content of one file. Arrays are row-major, F32 or F64, finite.
class Safetensors {
 public:
  using Shape = std::vector<size_t>;

  /// Free-form, strings only.
  std::map<std::string, std::string> metadata;

  /// Throws kUsage when `values` does not fill `shape`, holds a NaN or infinity, or `name` is
  /// taken.
  void Add(const std::string& name, Shape shape, std::span<const float> values);
  void Add(const std::string& name, Shape shape, std::span<const double> values);

  [[nodiscard]] bool Has(const std::string& name) const { return tensors_.contains(name); }
  [[nodiscard]] std::vector<std::string> names() const;
  /// Shape of a tensor; throws kBadInput naming the file when there is none.
  [[nodiscard]] const Shape& ShapeOf(const std::string& name) const;

  /// The values. Throws kBadInput naming the file when the tensor is missing, or has another type
  /// or shape than asked for.
  [[nodiscard]] std::vector<float> Float(const std::string& name, const Shape& shape) const;
  [[nodiscard]] std::vector<double> Double(const std::string& name, const Shape& shape) const;

  /// A metadata entry; throws kBadInput naming the file and the key when missing.
  [[nodiscard]] const std::string& Meta(const std::string& key) const;

  /// The bytes of a file.
  [[nodiscard]] std::string Serialise() const;
  /// Written beside `path`, flushed, renamed: whole or not at all.
  void Save(const std::string& path) const;

  /// Reads a whole file's bytes. `source` names it in messages. Throws kBadInput for anything not
  /// as the format says: short or over-long file, header that is not an object of known fields,
  /// duplicate key, metadata that is no string, unknown type, size overflow, arrays that overlap or
  /// leave a hole, values that are not finite.
  static Safetensors Parse(std::string_view bytes, const std::string& source);
  /// `Parse` of a file; throws kFile when it cannot be read.
  static Safetensors Load(const std::string& path);

 private:
  struct Tensor {
    bool wide = false;  // F64, else F32
    Shape shape;
    std::string bytes;  // little-endian
  };
  const Tensor& Find(const std::string& name, bool wide, const Shape& shape) const;
  template <typename T>
  void AddValues(const std::string& name, Shape shape, std::span<const T> values);

  std::map<std::string, Tensor> tensors_;
  std::string source_ = "safetensors";
};

}  // namespace kernelx
