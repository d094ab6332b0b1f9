#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include <archive.h>
#include <archive_entry.h>

#include "config/text/source.h"
#include "images/decoders.h"

namespace ddp::images {
namespace {

constexpr std::size_t kBlockBytes = 10240;

struct Release {
  void operator()(archive* tar) const { archive_read_free(tar); }
};

// The first bytes of files that gzip, zstd, bzip2 and xz wrote.
constexpr std::array<std::string_view, 4> kPackings = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh",
                                                       "\xfd"
                                                       "7zXZ"};

void refuse_packed(const format::Bytes& file, const std::string& name) {
  std::string begin(static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 6)), '\0');
  file.read(0, std::ssize(begin), begin.data());
  for (const std::string_view packing : kPackings) {
    if (!begin.starts_with(packing)) continue;
    throw usage_error("is compressed, but images are read in place", name, "decompress it first");
  }
}

// A file for libarchive, which must not see exceptions.
struct Reading {
  const format::Bytes& file;
  std::int64_t position = 0;
  std::string bytes = std::string(kBlockBytes, '\0');
  std::exception_ptr failure = {};

  static la_ssize_t read(archive*, void* reading, const void** bytes) {
    auto& r = *static_cast<Reading*>(reading);
    const std::int64_t size = std::clamp<std::int64_t>(r.file.size() - r.position, 0, std::ssize(r.bytes));
    try {
      if (size > 0) r.file.read(r.position, size, r.bytes.data());
    } catch (...) {
      r.failure = std::current_exception();
      return ARCHIVE_FATAL;
    }
    r.position += size;
    *bytes = r.bytes.data();
    return size;
  }
  static la_int64_t skip(archive*, void* reading, la_int64_t most) {
    auto& r = *static_cast<Reading*>(reading);
    const std::int64_t size = std::clamp<std::int64_t>(r.file.size() - r.position, 0, most);
    r.position += size;
    return size;
  }
};

Error tar_error(archive* tar, const Reading& reading, const std::string& name) {
  if (reading.failure) std::rethrow_exception(reading.failure);
  const char* why = archive_error_string(tar);
  return usage_error("cannot be read as a tar archive: " + config::printable(why != nullptr ? why : "unknown reason"),
                     name);
}

// Names that are not UTF-8 stay as the bytes of the archive.
std::string name_of(archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  return name != nullptr ? name : "";
}

format::TarMember member_of(archive* tar, archive_entry* entry, const std::string& file, std::int64_t file_bytes) {
  format::TarMember member{
      .name = name_of(entry), .offset = archive_filter_bytes(tar, 0), .size = archive_entry_size(entry)};
  if (archive_entry_sparse_count(entry) > 0) {
    throw usage_error("contains the sparse file \"" + config::printable(member.name) + "\"", file,
                      "create the archive without tar's option --sparse");
  }
  if (member.size < 0 || member.offset > file_bytes || member.size > file_bytes - member.offset) {
    throw usage_error("is truncated: it ends within \"" + config::printable(member.name) + "\"", file);
  }
  return member;
}

}  // namespace

std::vector<format::TarMember> list_tar(const format::Bytes& file, const std::string& name) {
  refuse_packed(file, name);
  const std::unique_ptr<archive, Release> tar(archive_read_new());
  archive_read_support_format_tar(tar.get());
  Reading reading{.file = file};
  if (archive_read_open2(tar.get(), &reading, nullptr, Reading::read, Reading::skip, nullptr) != ARCHIVE_OK) {
    throw tar_error(tar.get(), reading, name);
  }
  std::vector<format::TarMember> members;
  for (archive_entry* entry = nullptr;;) {
    const int status = archive_read_next_header(tar.get(), &entry);
    if (status == ARCHIVE_EOF) return members;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) throw tar_error(tar.get(), reading, name);
    // A hard link without its own data has no type.
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    members.push_back(member_of(tar.get(), entry, name, file.size()));
  }
}

}  // namespace ddp::images
