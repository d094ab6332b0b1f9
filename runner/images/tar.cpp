#include <array>
#include <fstream>
#include <memory>
#include <string_view>

#include <archive.h>
#include <archive_entry.h>

#include "config/text/source.h"
#include "images/decoders.h"

namespace ddp::images {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlockBytes = 10240;

struct Release {
  void operator()(archive* tar) const { archive_read_free(tar); }
};

// The first bytes of files that gzip, zstd, bzip2 and xz wrote.
constexpr std::array<std::string_view, 4> kPackings = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh",
                                                       "\xfd"
                                                       "7zXZ"};

void refuse_packed(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, 6> bytes = {};
  in.read(bytes.data(), bytes.size());
  const std::string_view begin(bytes.data(), static_cast<std::size_t>(in.gcount()));
  for (const std::string_view packing : kPackings) {
    if (!begin.starts_with(packing)) continue;
    throw usage_error("is compressed, but images are read in place", file.string(), "decompress it first");
  }
}

Error tar_error(archive* tar, const fs::path& file) {
  const char* why = archive_error_string(tar);
  return usage_error("cannot be read as a tar archive: " + config::printable(why != nullptr ? why : "unknown reason"),
                     file.string());
}

// Names that are not UTF-8 stay as the bytes of the archive.
std::string name_of(archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  return name != nullptr ? name : "";
}

format::TarMember member_of(archive* tar, archive_entry* entry, const fs::path& file, std::int64_t file_bytes) {
  format::TarMember member{
      .name = name_of(entry), .offset = archive_filter_bytes(tar, 0), .size = archive_entry_size(entry)};
  if (archive_entry_sparse_count(entry) > 0) {
    throw usage_error("contains the sparse file \"" + config::printable(member.name) + "\"", file.string(),
                      "create the archive without tar's option --sparse");
  }
  if (member.size < 0 || member.offset > file_bytes || member.size > file_bytes - member.offset) {
    throw usage_error("is truncated: it ends within \"" + config::printable(member.name) + "\"", file.string());
  }
  return member;
}

}  // namespace

std::vector<format::TarMember> list_tar(const fs::path& file) {
  std::error_code unreadable;
  const auto file_bytes = static_cast<std::int64_t>(fs::file_size(file, unreadable));
  if (unreadable) throw usage_error("cannot be read: " + unreadable.message(), file.string());
  refuse_packed(file);
  const std::unique_ptr<archive, Release> tar(archive_read_new());
  archive_read_support_format_tar(tar.get());
  if (archive_read_open_filename(tar.get(), file.c_str(), kBlockBytes) != ARCHIVE_OK) throw tar_error(tar.get(), file);
  std::vector<format::TarMember> members;
  for (archive_entry* entry = nullptr;;) {
    const int status = archive_read_next_header(tar.get(), &entry);
    if (status == ARCHIVE_EOF) return members;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) throw tar_error(tar.get(), file);
    // A hard link without its own data has no type.
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    members.push_back(member_of(tar.get(), entry, file, file_bytes));
  }
}

}  // namespace ddp::images
