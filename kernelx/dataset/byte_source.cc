// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "kernelx/ground/error.h"

namespace kernelx {
namespace {

constexpr size_t kInputBytes = size_t{256} << 10;
constexpr uint64_t kXzMemoryLimit = uint64_t{1} << 30;

/// The bytes on disk, hashed as they pass.
class HashedFile {
 public:
  explicit HashedFile(std::string path) : path_(std::move(path)), state_(XXH3_createState()) {
    XXH3_64bits_reset(state_);
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fd_ >= 0 && ::fstat(fd_, &info) == 0 && S_ISDIR(info.st_mode)) {
      Close();
      Fail(EISDIR);
    }
    if (fd_ < 0) {
      const int error = errno;
      Close();
      Fail(error);
    }
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~HashedFile() { Close(); }
  HashedFile(const HashedFile&) = delete;
  HashedFile& operator=(const HashedFile&) = delete;

  /// Fewer than `n` only at the end.
  size_t Read(char* to, size_t n) {
    size_t got = 0;
    while (got < n) {
      const ssize_t part = ::read(fd_, to + got, n - got);
      if (part < 0 && errno == EINTR) continue;
      if (part < 0) Fail(errno);
      if (part == 0) break;
      got += static_cast<size_t>(part);
    }
    XXH3_64bits_update(state_, to, got);
    bytes_ += got;
    return got;
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint64_t hash() const { return XXH3_64bits_digest(state_); }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    if (state_ != nullptr) XXH3_freeState(std::exchange(state_, nullptr));
  }
  [[noreturn]] void Fail(int error) const {
    const char* mend = error == EACCES || error == EPERM ? "check the permissions"
                       : error == EISDIR                 ? "name a file, not a folder"
                                                         : "check the path";
    throw Error(ErrorCode::kFile,
                fmt::format("{}: cannot read: {}; {}", path_, std::strerror(error), mend));
  }

  std::string path_;
  XXH3_state_t* state_ = nullptr;
  int fd_ = -1;
  uint64_t bytes_ = 0;
};

/// The part every form shares: the file and the bytes looked at to tell the form.
class FileSource : public ByteSource {
 public:
  FileSource(std::unique_ptr<HashedFile> file, std::string head)
      : file_(std::move(file)), head_(std::move(head)) {}
  [[nodiscard]] uint64_t Hash() const override { return file_->hash(); }
  [[nodiscard]] uint64_t FileBytes() const override { return file_->bytes(); }

 protected:
  size_t ReadFile(char* to, size_t n) {
    const size_t from_head = std::min(n, head_.size() - head_used_);
    std::memcpy(to, head_.data() + head_used_, from_head);
    head_used_ += from_head;
    return from_head + (from_head < n ? file_->Read(to + from_head, n - from_head) : 0);
  }
  [[noreturn]] void Damaged(std::string_view form, std::string_view what) const {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: the {} stream {} after {} bytes of the file; fetch the file again",
                            file_->path(), form, what, file_->bytes()));
  }

 private:
  std::unique_ptr<HashedFile> file_;
  std::string head_;
  size_t head_used_ = 0;
};

class PlainSource final : public FileSource {
 public:
  using FileSource::FileSource;
  size_t Read(char* to, size_t n) override { return ReadFile(to, n); }
};

/// A decoder with an input buffer: `Decode` turns input into output and says when to stop.
class DecodingSource : public FileSource {
 public:
  DecodingSource(std::unique_ptr<HashedFile> file, std::string head)
      : FileSource(std::move(file), std::move(head)), input_(kInputBytes) {}

  size_t Read(char* to, size_t n) final {
    size_t got = 0;
    while (got < n && !done_) {
      if (input_at_ == input_size_ && !input_ended_) {
        input_at_ = 0;
        input_size_ = ReadFile(input_.data(), input_.size());
        input_ended_ = input_size_ < input_.size();
      }
      got += Decode(to + got, n - got);
    }
    return got;
  }

 protected:
  /// Consumes from [input(), input() + input_left()) with `Consume`, writes up to `n` bytes and
  /// returns how many. Sets `done_` at the end of the stream and throws when it comes too early.
  virtual size_t Decode(char* to, size_t n) = 0;

  [[nodiscard]] char* input() { return input_.data() + input_at_; }
  [[nodiscard]] size_t input_left() const { return input_size_ - input_at_; }
  [[nodiscard]] bool input_ended() const { return input_ended_; }
  void Consume(size_t n) { input_at_ += n; }

  bool done_ = false;

 private:
  std::vector<char> input_;
  size_t input_at_ = 0;
  size_t input_size_ = 0;
  bool input_ended_ = false;
};

class GzipSource final : public DecodingSource {
 public:
  GzipSource(std::unique_ptr<HashedFile> file, std::string head)
      : DecodingSource(std::move(file), std::move(head)) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 private:
  size_t Decode(char* to, size_t n) override {
    if (between_members_ && input_left() == 0 && input_ended()) {
      done_ = true;
      return 0;
    }
    n = std::min(n, size_t{1} << 30);
    stream_.next_in = reinterpret_cast<Bytef*>(input());
    stream_.avail_in = static_cast<uInt>(input_left());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(n);
    const bool no_input = input_left() == 0 && input_ended();
    between_members_ = false;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    Consume(input_left() - stream_.avail_in);
    if (code == Z_STREAM_END) {
      between_members_ = true;  // gzip files may be concatenated
      inflateReset(&stream_);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      Damaged("gzip", "is damaged");
    } else if (no_input && stream_.avail_out == n) {
      Damaged("gzip", "is cut short");
    }
    return n - stream_.avail_out;
  }

  z_stream stream_{};
  bool between_members_ = false;
};

class XzSource final : public DecodingSource {
 public:
  XzSource(std::unique_ptr<HashedFile> file, std::string head)
      : DecodingSource(std::move(file), std::move(head)) {
    if (lzma_stream_decoder(&stream_, kXzMemoryLimit, LZMA_CONCATENATED) != LZMA_OK) {
      throw std::bad_alloc();
    }
  }
  ~XzSource() override { lzma_end(&stream_); }

 private:
  size_t Decode(char* to, size_t n) override {
    stream_.next_in = reinterpret_cast<uint8_t*>(input());
    stream_.avail_in = input_left();
    stream_.next_out = reinterpret_cast<uint8_t*>(to);
    stream_.avail_out = n;
    const lzma_ret code = lzma_code(&stream_, input_ended() ? LZMA_FINISH : LZMA_RUN);
    Consume(input_left() - stream_.avail_in);
    if (code == LZMA_STREAM_END) {
      done_ = true;
    } else if (code == LZMA_BUF_ERROR) {
      Damaged("xz", "is cut short");
    } else if (code == LZMA_MEMLIMIT_ERROR) {
      Damaged("xz", "needs more than 1 GiB of memory to decode");
    } else if (code != LZMA_OK) {
      Damaged("xz", "is damaged");
    }
    return n - stream_.avail_out;
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class ZstdSource final : public DecodingSource {
 public:
  ZstdSource(std::unique_ptr<HashedFile> file, std::string head)
      : DecodingSource(std::move(file), std::move(head)), stream_(ZSTD_createDCtx()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdSource() override { ZSTD_freeDCtx(stream_); }

 private:
  size_t Decode(char* to, size_t n) override {
    const bool no_input = input_left() == 0 && input_ended();
    if (no_input && frame_ended_) {
      done_ = true;
      return 0;
    }
    ZSTD_inBuffer in{input(), input_left(), 0};
    ZSTD_outBuffer out{to, n, 0};
    const size_t code = ZSTD_decompressStream(stream_, &out, &in);
    Consume(in.pos);
    if (ZSTD_isError(code) != 0) {
      Damaged("zstd", fmt::format("is damaged ({})", ZSTD_getErrorName(code)));
    }
    frame_ended_ = code == 0;
    if (no_input && out.pos == 0 && !frame_ended_) {
      Damaged("zstd", "is cut short");
    }
    return out.pos;
  }

  ZSTD_DCtx* stream_;
  bool frame_ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> ByteSource::Open(const std::string& path) {
  auto file = std::make_unique<HashedFile>(path);
  std::string head(6, '\0');
  head.resize(file->Read(head.data(), head.size()));
  using namespace std::string_view_literals;
  const std::string_view magic = head;
  if (magic.starts_with("\x1f\x8b"sv)) {
    return std::make_unique<GzipSource>(std::move(file), std::move(head));
  }
  if (magic.starts_with("\xfd"
                        "7zXZ\0"sv)) {
    return std::make_unique<XzSource>(std::move(file), std::move(head));
  }
  if (magic.starts_with("\x28\xb5\x2f\xfd"sv)) {
    return std::make_unique<ZstdSource>(std::move(file), std::move(head));
  }
  return std::make_unique<PlainSource>(std::move(file), std::move(head));
}

}  // namespace kernelx
