#include "tables/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/util/compression.h>

#include "base/file_descriptor.h"
#include "config/text/source.h"

namespace ddp::tables {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";

bool is_gzip(arrow::io::ReadableFile& file, const std::filesystem::path& path) {
  const auto head = require(file.ReadAt(0, static_cast<std::int64_t>(kGzipMagic.size())), path);
  require(file.Seek(0), path);
  return std::string_view(*head) == kGzipMagic;
}

// The error of a folder in the place of a file, with a pattern for the files in it.
Error is_folder(const std::filesystem::path& folder) {
  std::string ending;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (entry->is_regular_file(gone)) ending = std::max(ending, entry->path().extension().string());
  }
  return usage_error("is a folder, not a file", folder.string(),
                     "name the files in it: '" + config::printable((folder / ("*" + ending)).string()) + "'");
}

}  // namespace

std::shared_ptr<arrow::io::ReadableFile> open_file(const std::filesystem::path& file) {
  // O_NONBLOCK: without it, open() on a pipe waits for a writer.
  FileDescriptor descriptor(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!descriptor) throw usage_error("cannot be read: " + errno_text(errno), file.string());
  struct stat status {};
  const bool has_status = fstat(descriptor.get(), &status) == 0;
  if (has_status && S_ISDIR(status.st_mode)) throw is_folder(file);
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

}  // namespace ddp::tables
