#include "config/text/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <arrow/util/utf8.h>
#include <zlib.h>

#include "base/file_descriptor.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

// Returns the one of these that a file begins with; "": none.
std::string_view compression_of(arrow::io::RandomAccessFile& file, const std::filesystem::path& path) {
  const auto head = require(file.ReadAt(0, static_cast<std::int64_t>(kZstdMagic.size())), path);
  for (const std::string_view magic : {kGzipMagic, kZstdMagic}) {
    if (std::string_view(*head).starts_with(magic)) return magic;
  }
  return {};
}

// What TableOptions::open opened, for Arrow.
class OpenedFile : public arrow::io::RandomAccessFile {
 public:
  explicit OpenedFile(std::shared_ptr<const format::Bytes> bytes) : bytes_(std::move(bytes)) {}

  arrow::Result<std::int64_t> GetSize() override { return bytes_->size(); }
  arrow::Result<std::int64_t> ReadAt(std::int64_t begin, std::int64_t most, void* out) override try {
    const std::int64_t size = std::clamp<std::int64_t>(bytes_->size() - begin, 0, most);
    if (size > 0) bytes_->read(begin, size, out);
    return size;
  } catch (const Error& error) {  // Arrow's threads expect no exceptions
    return arrow::Status::IOError(error.summary());
  } catch (const std::exception&) {
    return arrow::Status::OutOfMemory("");
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t begin, std::int64_t most) override {
    const std::int64_t size = std::clamp<std::int64_t>(bytes_->size() - begin, 0, most);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> buffer, arrow::AllocateResizableBuffer(size));
    ARROW_RETURN_NOT_OK(ReadAt(begin, size, buffer->mutable_data()).status());
    return buffer;
  }
  arrow::Result<std::int64_t> Read(std::int64_t most, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t size, ReadAt(position_, most, out));
    position_ += size;
    return size;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t most) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, most));
    position_ += buffer->size();
    return buffer;
  }
  arrow::Status Seek(std::int64_t position) override {
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Close() override {
    bytes_ = nullptr;
    return arrow::Status::OK();
  }
  bool closed() const override { return bytes_ == nullptr; }

 private:
  std::shared_ptr<const format::Bytes> bytes_;
  std::int64_t position_ = 0;
};

// The content of a gzip file, which may have several members, and zeros behind each, as gunzip reads it. Arrow's own
// stream refuses the zeros.
class GzipStream : public ComputedStream {
 public:
  explicit GzipStream(std::shared_ptr<arrow::io::InputStream> packed) : packed_(std::move(packed)) {
    is_ready_ = inflateInit2(&zlib_, MAX_WBITS + kGzipOnly) == Z_OK;
  }
  ~GzipStream() override { inflateEnd(&zlib_); }

  arrow::Result<std::int64_t> Read(std::int64_t most, void* out) override {
    if (!is_ready_) return arrow::Status::OutOfMemory("zlib");
    zlib_.next_out = static_cast<Bytef*>(out);
    zlib_.avail_out = static_cast<uInt>(std::min<std::int64_t>(most, kMostAtOnce));
    const uInt asked = zlib_.avail_out;
    while (zlib_.avail_out > 0) {
      if (zlib_.avail_in == 0) {
        ARROW_ASSIGN_OR_RAISE(piece_, packed_->Read(kPiece));
        zlib_.next_in = const_cast<Bytef*>(piece_->data());
        zlib_.avail_in = static_cast<uInt>(piece_->size());
        if (zlib_.avail_in == 0 && in_member_) return arrow::Status::IOError("the gzip file is cut off");
        if (zlib_.avail_in == 0) break;
      }
      if (!in_member_ && *zlib_.next_in == 0) {
        ++zlib_.next_in;
        --zlib_.avail_in;
        continue;
      }
      if (!in_member_) inflateReset(&zlib_);
      const int status = inflate(&zlib_, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_BUF_ERROR && status != Z_STREAM_END) {
        return arrow::Status::IOError("the gzip file is damaged: ", zlib_.msg == nullptr ? "" : zlib_.msg);
      }
      in_member_ = status != Z_STREAM_END;
    }
    position_ += asked - zlib_.avail_out;
    return asked - zlib_.avail_out;
  }

 private:
  static constexpr int kGzipOnly = 16;  // zlib.h, inflateInit2
  static constexpr std::int64_t kPiece = 1 << 18;
  static constexpr std::int64_t kMostAtOnce = 1 << 30;

  const std::shared_ptr<arrow::io::InputStream> packed_;
  std::shared_ptr<arrow::Buffer> piece_;
  z_stream zlib_{};
  bool is_ready_ = false;
  bool in_member_ = true;
};

}  // namespace

std::shared_ptr<arrow::io::RandomAccessFile> open_file(const std::filesystem::path& file,
                                                       const format::TableOptions& options) {
  if (options.open) return std::make_shared<OpenedFile>(options.open(file));
  // O_NONBLOCK: without it, open() on a pipe waits for a writer.
  FileDescriptor descriptor(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!descriptor) throw usage_error("cannot be read: " + errno_text(errno), file.string());
  struct stat status {};
  const bool has_status = fstat(descriptor.get(), &status) == 0;
  if (has_status && S_ISDIR(status.st_mode)) {
    throw usage_error("is a folder, not a file", file.string(), "name the files in it, with a pattern such as *.csv");
  }
  if (!has_status || !S_ISREG(status.st_mode)) {
    throw usage_error("is not a regular file", file.string());
  }
  const int kept = fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 3);
  if (kept < 0) throw usage_error("cannot be read: " + errno_text(errno), file.string());
  return require(arrow::io::ReadableFile::Open(kept), file);
}

std::shared_ptr<arrow::io::InputStream> open_stream(const std::filesystem::path& file,
                                                    const format::TableOptions& options, const Span& span) {
  std::shared_ptr<arrow::io::RandomAccessFile> bytes = open_file(file, options);
  const std::string_view compression = compression_of(*bytes, file);
  for (const auto& [ending, name, magic] :
       {std::tuple(".gz", "gzip", kGzipMagic), std::tuple(".zst", "zstd", kZstdMagic)}) {
    if (file.extension() != ending || compression == magic) continue;
    throw usage_error("is not a " + std::string(name) + " file, despite its name", file.string());
  }
  if (compression.empty() && span.size) {
    return require(arrow::io::RandomAccessFile::GetStream(bytes, span.begin, *span.size), file);
  }
  require(bytes->Seek(compression.empty() ? span.begin : 0), file);
  if (compression.empty()) return bytes;
  std::shared_ptr<arrow::io::InputStream> content;
  if (compression == kGzipMagic) {
    content = std::make_shared<GzipStream>(bytes);
  } else {
    static const std::shared_ptr<arrow::util::Codec> codec =
        require(arrow::util::Codec::Create(arrow::Compression::ZSTD), file);
    content = require(arrow::io::CompressedInputStream::Make(codec.get(), bytes), file);
  }
  require(content->Advance(span.begin), file);
  return content;
}

bool is_compressed(const std::filesystem::path& file, const format::TableOptions& options) {
  return !compression_of(*open_file(file, options), file).empty();
}

Error refusal(const arrow::Status& status, const std::filesystem::path& file) {
  if (status.IsOutOfMemory()) return usage_error("needs more memory than is available", file.string());
  return usage_error("cannot be read: " + config::printable(status.message()), file.string());
}

bool is_utf8(std::string_view text) {
  static const bool initialised = (arrow::util::InitializeUTF8(), true);
  return initialised && arrow::util::ValidateUTF8(reinterpret_cast<const std::uint8_t*>(text.data()),
                                                  static_cast<std::int64_t>(text.size()));
}

Error not_utf8(const std::filesystem::path& file, std::int64_t line, const std::string& holder, std::string_view text) {
  return usage_error(holder + ": " + config::in_quotes(text) + " is not UTF-8",
                     file.string() + ":" + std::to_string(line), "save the file in UTF-8");
}

}  // namespace ddp::tables
