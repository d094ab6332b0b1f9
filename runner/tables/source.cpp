#include "config/text/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <cerrno>

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/util/compression.h>
#include <arrow/util/utf8.h>

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
  const std::unique_ptr<arrow::util::Codec> codec = require(arrow::util::Codec::Create(arrow::Compression::GZIP), file);
  return require(arrow::io::CompressedInputStream::Make(codec.get(), bytes), file);
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
