// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ground/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

[[noreturn]] void Fail(const std::string& path, std::string_view doing, int error) {
  std::string_view mend = "check the path";
  if (error == ENOSPC || error == EDQUOT) {
    mend = "free some space and run again; nothing was left half-written";
  } else if (error == EACCES || error == EPERM || error == EROFS) {
    mend = "check the permissions";
  } else if (error == EISDIR) {
    mend = "name a file, not a folder";
  }
  throw Error(ErrorCode::kFile,
              fmt::format("{}: cannot {}: {}; {}", path, doing, std::strerror(error), mend));
}

std::string FolderOf(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.{}.tmp", path_, ::getpid())) {
  if (std::filesystem::is_directory(path_)) Fail(path_, "write", EISDIR);
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) Fail(path_, "write", errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::Write(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= kBufferBytes) Flush();
}

void AtomicFile::Flush() {
  const char* at = buffer_.data();
  size_t left = buffer_.size();
  while (left > 0) {
    const ssize_t wrote = ::write(fd_, at, left);
    if (wrote < 0) {
      if (errno == EINTR) continue;
      Fail(path_, "write", errno);
    }
    at += wrote;
    left -= static_cast<size_t>(wrote);
  }
  buffer_.clear();
}

void AtomicFile::Stage() {
  if (staged_) return;
  Flush();
  if (::fsync(fd_) != 0) Fail(path_, "write", errno);
  if (::close(std::exchange(fd_, -1)) != 0) Fail(path_, "write", errno);
  staged_ = true;
}

void AtomicFile::Commit() {
  Stage();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) Fail(path_, "write", errno);
  temporary_.clear();
  const int folder = ::open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);  // Some file systems refuse; the rename itself has been done.
    ::close(folder);
  }
}

void WriteFileAtomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.Write(bytes);
  file.Commit();
}

MappedFile::MappedFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) Fail(path, "read", errno);
  struct stat info {};
  int error = ::fstat(fd, &info) != 0 ? errno : 0;
  if (error == 0 && S_ISDIR(info.st_mode)) error = EISDIR;
  if (error == 0 && info.st_size > 0) {
    size_ = static_cast<size_t>(info.st_size);
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) {
      error = errno;
    } else {
      data_ = static_cast<const char*>(mapped);
    }
  }
  ::close(fd);
  if (error != 0) Fail(path, "read", error);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

std::string ReadFile(const std::string& path) { return std::string(MappedFile(path).bytes()); }

}  // namespace kernelx
