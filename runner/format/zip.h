#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The directory of a zip archive (PKWARE's APPNOTE.TXT, with ZIP64) and its stored or deflated members. Archives are
// untrusted: every offset and length is checked before use.
namespace ddp::format {

struct ZipMember {
  std::string name = {};
  bool deflated = false;
  std::uint32_t crc = 0;
  std::string_view packed = {};  // compressed bytes in the archive
  std::uint64_t size = 0;        // decompressed size
};

// Returns the members of an archive with these bytes. Throws std::runtime_error if the archive is damaged, or if a
// member is encrypted or compressed by another method.
std::vector<ZipMember> zip_members(std::string_view archive);

// Decompresses the first `size` bytes, at most member.size, of a deflated member into `out`. If that is the whole
// member, checks its end and its CRC-32. Throws std::runtime_error if the member is damaged.
void inflate_member(const ZipMember& member, char* out, std::uint64_t size);

}  // namespace ddp::format
