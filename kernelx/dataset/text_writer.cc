// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "kernelx/dataset/writer.h"
#include "kernelx/ground/error.h"
#include "kernelx/ground/file.h"
#include "kernelx/ground/parallel.h"

namespace kernelx {

/// What stands between the text and the file.
class TextWriter::Encoder {
 public:
  explicit Encoder(const std::string& path) : file_(path) {}
  virtual ~Encoder() = default;
  virtual void Write(std::string_view text) { file_.Write(text); }
  virtual void Finish() {}
  void Stage() {
    if (std::exchange(staged_, true)) return;
    Finish();
    file_.Stage();
  }
  void Commit() {
    Stage();
    file_.Commit();
  }

 protected:
  [[noreturn]] void Fail(std::string_view form) const {
    throw Error(ErrorCode::kFile,
                fmt::format("{}: the {} encoder failed; write a plain file", file_.path(), form));
  }
  AtomicFile file_;
  std::vector<char> output_ = std::vector<char>(size_t{256} << 10);

 private:
  bool staged_ = false;
};

namespace {

constexpr int kGzipLevel = 6;
constexpr uint32_t kXzPreset = 6;
constexpr uint64_t kXzBlockBytes = uint64_t{24} << 20;  // three dictionaries; fixed, see below
constexpr int kZstdLevel = 6;

class GzipEncoder final : public TextWriter::Encoder {
 public:
  explicit GzipEncoder(const std::string& path) : Encoder(path) {
    if (deflateInit2(&stream_, kGzipLevel, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~GzipEncoder() override { deflateEnd(&stream_); }

  void Write(std::string_view text) override {
    constexpr size_t kMost = size_t{1} << 30;
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), kMost))) {
      Run(text.substr(0, kMost), Z_NO_FLUSH);
    }
  }
  void Finish() override { Run({}, Z_FINISH); }

 private:
  void Run(std::string_view text, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) Fail("gzip");
      file_.Write({output_.data(), output_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }
  z_stream stream_{};
};

class XzEncoder final : public TextWriter::Encoder {
 public:
  explicit XzEncoder(const std::string& path) : Encoder(path) {
    // The block size is fixed so that the bytes do not depend on the number of threads.
    lzma_mt options{};
    options.threads = ThreadCount(0);
    options.block_size = kXzBlockBytes;
    options.preset = kXzPreset;
    options.check = LZMA_CHECK_CRC64;
    if (lzma_stream_encoder_mt(&stream_, &options) != LZMA_OK) Fail("xz");
  }
  ~XzEncoder() override { lzma_end(&stream_); }

  void Write(std::string_view text) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(text.data());
    stream_.avail_in = text.size();
    while (stream_.avail_in > 0) Step(LZMA_RUN);
  }
  void Finish() override {
    while (!Step(LZMA_FINISH)) {
    }
  }

 private:
  bool Step(lzma_action action) {
    stream_.next_out = reinterpret_cast<uint8_t*>(output_.data());
    stream_.avail_out = output_.size();
    const lzma_ret code = lzma_code(&stream_, action);
    if (code != LZMA_OK && code != LZMA_STREAM_END) Fail("xz");
    file_.Write({output_.data(), output_.size() - stream_.avail_out});
    return code == LZMA_STREAM_END;
  }
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class ZstdEncoder final : public TextWriter::Encoder {
 public:
  explicit ZstdEncoder(const std::string& path) : Encoder(path), stream_(ZSTD_createCCtx()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(stream_, ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(stream_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdEncoder() override { ZSTD_freeCCtx(stream_); }

  void Write(std::string_view text) override {
    ZSTD_inBuffer in{text.data(), text.size(), 0};
    while (in.pos < in.size) Step(in, ZSTD_e_continue);
  }
  void Finish() override {
    ZSTD_inBuffer in{nullptr, 0, 0};
    while (Step(in, ZSTD_e_end) != 0) {
    }
  }

 private:
  size_t Step(ZSTD_inBuffer& in, ZSTD_EndDirective directive) {
    ZSTD_outBuffer out{output_.data(), output_.size(), 0};
    const size_t left = ZSTD_compressStream2(stream_, &out, &in, directive);
    if (ZSTD_isError(left) != 0) Fail("zstd");
    file_.Write({output_.data(), out.pos});
    return left;
  }
  ZSTD_CCtx* stream_;
};

std::unique_ptr<TextWriter::Encoder> MakeEncoder(const std::string& path) {
  if (path.ends_with(".gz")) return std::make_unique<GzipEncoder>(path);
  if (path.ends_with(".xz")) return std::make_unique<XzEncoder>(path);
  if (path.ends_with(".zst")) return std::make_unique<ZstdEncoder>(path);
  return std::make_unique<TextWriter::Encoder>(path);
}

}  // namespace

TextWriter::TextWriter(const std::string& path) : encoder_(MakeEncoder(path)) {}
TextWriter::~TextWriter() = default;
void TextWriter::Write(std::string_view text) { encoder_->Write(text); }
void TextWriter::Stage() { encoder_->Stage(); }
void TextWriter::Commit() { encoder_->Commit(); }

}  // namespace kernelx
