#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The directory of a zip archive (PKWARE's APPNOTE.TXT, ZIP64 included) and its members that are stored or deflated.
// An archive is data from outside: every offset and length is checked before it is used.
namespace ddp::format {

struct ZipMember {
  std::string name = {};
  bool deflated = false;
  std::uint32_t crc = 0;
  std::string_view packed = {};  // its bytes in the archive
  std::uint64_t size = 0;        // unpacked
};

// Returns the members of an archive that consists of these bytes. Throws std::runtime_error where it is damaged, and
// where a member is encrypted or packed by another method.
std::vector<ZipMember> zip_members(std::string_view archive);

// Unpacks the first `size` bytes of a deflated member into `out`, at most member.size. Where these are all of it, its
// end and its CRC-32 are checked. Throws std::runtime_error where it is damaged.
void inflate_member(const ZipMember& member, char* out, std::uint64_t size);

}  // namespace ddp::format
