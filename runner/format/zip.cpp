#include "format/zip.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

#include <zlib.h>

#include "config/text/source.h"

namespace ddp::format {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kEnd64Size = 56;
constexpr std::uint64_t kIn64Bits = 0xffffffff;  // a size or offset that is in the ZIP64 field
constexpr std::uint16_t kZip64Field = 1;
// Deflate codes at most 258 bytes with 2 bits; a larger expansion means that the data are not deflated.
constexpr std::uint64_t kMostPerByte = 1032;

// Reads consecutive little-endian numbers.
class ZipReader {
 public:
  ZipReader(std::string_view bytes, std::uint64_t begin) {
    if (begin > bytes.size()) damaged();
    rest_ = bytes.substr(begin);
  }

  [[noreturn]] static void damaged() { throw std::runtime_error("its zip directory is damaged"); }

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) damaged();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <class Number>
  Number number() {
    Number value = 0;
    const std::string_view bytes = take(sizeof value);
    for (std::size_t i = sizeof value; i-- > 0;) {
      value = static_cast<Number>(static_cast<std::uint64_t>(value) << 8 | static_cast<unsigned char>(bytes[i]));
    }
    return value;
  }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  bool at_end() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // the end of the directory, where the end record begins
};

// The end record is the last part of an archive, except for a comment, whose length it contains.
std::size_t find_end(std::string_view archive) {
  if (archive.size() >= kEndSize) {
    const std::size_t last = archive.size() - kEndSize;
    const std::size_t first = last - std::min<std::size_t>(last, UINT16_MAX);
    for (std::size_t at = last + 1; at-- > first;) {
      ZipReader record(archive, at);
      if (record.u32() != kEnd) continue;
      record.take(16);
      if (record.u16() == last - at) return at;
    }
  }
  throw std::runtime_error("is not a zip archive, or cut off");
}

// Finds the ZIP64 record, for sizes or offsets beyond 32 bits.
std::optional<Directory> find_end64(std::string_view archive, std::size_t end) {
  if (end < kLocatorSize) return std::nullopt;
  ZipReader locator(archive, end - kLocatorSize);
  if (locator.u32() != kEnd64Locator) return std::nullopt;
  locator.u32();  // the disk
  const std::uint64_t at = locator.u64();
  if (end < kLocatorSize + kEnd64Size || at > end - kLocatorSize - kEnd64Size) ZipReader::damaged();
  ZipReader record(archive, at);
  if (record.u32() != kEnd64) ZipReader::damaged();
  record.take(20);  // its size, versions, disks
  Directory directory{.end = at};
  directory.entries = record.u64();
  if (record.u64() != directory.entries) ZipReader::damaged();
  directory.size = record.u64();
  directory.begin = record.u64();
  return directory;
}

Directory find_directory(std::string_view archive) {
  const std::size_t end = find_end(archive);
  Directory directory{.end = end};
  if (const auto large = find_end64(archive, end)) {
    directory = *large;
  } else {
    ZipReader record(archive, end);
    record.take(8);  // signature, disks
    directory.entries = record.u16();
    if (record.u16() != directory.entries) ZipReader::damaged();
    directory.size = record.u32();
    directory.begin = record.u32();
  }
  if (directory.begin > directory.end || directory.size != directory.end - directory.begin) ZipReader::damaged();
  return directory;
}

// The sizes of a member and the offset of its local header, from the directory.
struct Extent {
  std::uint64_t packed = 0;
  std::uint64_t size = 0;
  std::uint64_t header = 0;
};

// Reads the values that need 64 bits from the ZIP64 field.
void read_zip64_field(std::string_view extra, Extent& extent) {
  ZipReader fields(extra, 0);
  while (fields.left() >= 4) {
    const std::uint16_t kind = fields.u16();
    const std::string_view field = fields.take(fields.u16());
    if (kind != kZip64Field) continue;
    ZipReader numbers(field, 0);
    for (std::uint64_t* number : {&extent.size, &extent.packed, &extent.header}) {
      if (*number == kIn64Bits) *number = numbers.u64();
    }
    return;
  }
}

std::string_view packed_bytes(std::string_view archive, const Extent& extent, std::uint64_t end) {
  ZipReader local(archive.substr(0, end), extent.header);
  if (local.u32() != kLocalHeader) ZipReader::damaged();
  local.take(22);
  const std::uint64_t name = local.u16();
  const std::uint64_t extra = local.u16();
  local.take(name + extra);
  return local.take(extent.packed);
}

void require_readable(const ZipMember& member, std::uint16_t flags, std::uint16_t method) {
  const std::string which = "its member " + config::in_quotes(member.name);
  if ((flags & 1) != 0) throw std::runtime_error(which + " is encrypted");
  if (method != 0 && method != 8) {
    throw std::runtime_error(which + " is compressed by method " + std::to_string(method) + ", not stored or deflated");
  }
  const std::uint64_t packed = member.packed.size();
  const bool fits = member.deflated ? member.size / kMostPerByte <= packed : member.size == packed;
  if (!fits) throw std::runtime_error(which + " claims an impossible size");
}

ZipMember read_entry(std::string_view archive, ZipReader& entry, std::uint64_t end) {
  if (entry.u32() != kDirectoryEntry) ZipReader::damaged();
  entry.u32();  // versions
  const std::uint16_t flags = entry.u16();
  const std::uint16_t method = entry.u16();
  entry.u32();  // time and date
  ZipMember member{.deflated = method == 8, .crc = entry.u32()};
  Extent extent;
  extent.packed = entry.u32();
  extent.size = entry.u32();
  const std::uint16_t name = entry.u16();
  const std::uint16_t extra = entry.u16();
  const std::uint16_t comment = entry.u16();
  entry.take(8);  // disk, attributes
  extent.header = entry.u32();
  member.name = entry.take(name);
  read_zip64_field(entry.take(extra), extent);
  entry.take(comment);
  member.size = extent.size;
  member.packed = packed_bytes(archive, extent, end);
  require_readable(member, flags, method);
  return member;
}

// Owns zlib's state.
class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::runtime_error("not enough memory to decompress it");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

constexpr std::uint64_t kPiece = 1u << 30;  // zlib counts in 32 bits

}  // namespace

std::vector<ZipMember> zip_members(std::string_view archive) {
  const Directory directory = find_directory(archive);
  ZipReader entries(archive.substr(0, directory.end), directory.begin);
  std::vector<ZipMember> members;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    members.push_back(read_entry(archive, entries, directory.begin));
  }
  if (!entries.at_end()) ZipReader::damaged();
  return members;
}

void inflate_member(const ZipMember& member, char* out, std::uint64_t size) {
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::string_view packed = member.packed;
  std::uint64_t done = 0;
  std::uint32_t crc = 0;
  int result = Z_OK;
  char beyond = 0;  // receives a byte beyond the end, which a valid member does not have
  while (result == Z_OK) {
    if (stream.avail_in == 0) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream.avail_in = static_cast<uInt>(std::min<std::uint64_t>(packed.size(), kPiece));
      packed.remove_prefix(stream.avail_in);
    }
    const bool full = done == size;
    if (full && size < member.size) return;
    const std::uint64_t room = full ? 1 : std::min(size - done, kPiece);
    auto* const next = reinterpret_cast<Bytef*>(full ? &beyond : out + done);
    stream.next_out = next;
    stream.avail_out = static_cast<uInt>(room);
    result = inflate(&stream, Z_NO_FLUSH);
    const std::uint64_t made = room - stream.avail_out;
    if (full && made > 0) throw std::runtime_error("is longer than the archive says");
    crc = static_cast<std::uint32_t>(crc32_z(crc, next, made));
    done += made;
  }
  if (result != Z_STREAM_END || done != size) throw std::runtime_error("is damaged: it cannot be decompressed");
  if (size == member.size && crc != member.crc) throw std::runtime_error("is damaged: its checksum differs");
}

}  // namespace ddp::format
