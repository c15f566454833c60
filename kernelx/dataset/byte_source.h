// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace kernelx {

/// The decoded bytes of a file, front to back in bounded memory: plain, or compressed with gzip, xz
/// or zstd, told by the first bytes. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Throws kFile: missing, a directory, no permission.
  static std::unique_ptr<ByteSource> Open(const std::string& path);

  /// Fills `to` with up to `n` bytes and returns how many; fewer than `n` only at the end. Throws
  /// kBadInput when a compressed stream is damaged, cut short or followed by something else.
  virtual size_t Read(char* to, size_t n) = 0;

  /// XXH3-64 and length of the bytes on disk; complete once `Read` came to the end.
  [[nodiscard]] virtual uint64_t Hash() const = 0;
  [[nodiscard]] virtual uint64_t FileBytes() const = 0;
};

}  // namespace kernelx
