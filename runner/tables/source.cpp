#include "config/text/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <cerrno>

#include <arrow/buffer.h>
#include <arrow/util/utf8.h>
#include <zlib.h>

#include "base/file_descriptor.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";

bool is_gzip(arrow::io::ReadableFile& file, const std::filesystem::path& path) {
  const auto head = require(file.ReadAt(0, static_cast<std::int64_t>(kGzipMagic.size())), path);
  require(file.Seek(0), path);
  return std::string_view(*head) == kGzipMagic;
}

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

std::shared_ptr<arrow::io::ReadableFile> open_file(const std::filesystem::path& file) {
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

std::shared_ptr<arrow::io::InputStream> open_stream(const std::filesystem::path& file) {
  std::shared_ptr<arrow::io::ReadableFile> bytes = open_file(file);
  if (!is_gzip(*bytes, file)) {
    if (file.extension() == ".gz") throw usage_error("is not a gzip file, despite its name", file.string());
    return bytes;
  }
  return std::make_shared<GzipStream>(bytes);
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
