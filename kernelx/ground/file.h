// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace kernelx {

/// A file that appears whole or not at all: bytes go to a temporary neighbour, and `Commit` flushes
/// them to disk and renames. Destroyed without `Commit`, it leaves nothing behind.
class AtomicFile {
 public:
  /// Throws kFile when the folder does not exist or cannot be written.
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends; throws kFile when the disk is full (nothing of `path` is touched then).
  void Write(std::string_view bytes);
  /// Brings every byte to the disk, so that `Commit` has only the name left to change: for several
  /// files that must appear together, stage all before committing the first. Ends the writing.
  void Stage();
  /// Stage, rename over `path`, fsync of the folder.
  void Commit();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void Flush();
  std::string path_;
  std::string temporary_;
  std::string buffer_;
  int fd_ = -1;
  bool staged_ = false;
};

/// `AtomicFile` in one call.
void WriteFileAtomically(const std::string& path, std::string_view bytes);

/// A read-only memory map of a whole file. Throws kFile naming the path: missing, a directory, no
/// permission.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

/// The whole file as a string; same errors as `MappedFile`.
std::string ReadFile(const std::string& path);

}  // namespace kernelx
