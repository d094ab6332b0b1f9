#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// Archives whose members are read in place. Listing an archive needs libddp_images.so (runner/images), which has
// libarchive. A process loads it when it first lists an archive.
namespace ddp::format {

struct TarMember {
  std::string name;
  std::int64_t offset = 0;  // file offset of the first byte of its data
  std::int64_t size = 0;    // bytes
};

// Returns the regular files of an archive (ustar, pax, GNU) in their order. Reads only the headers. Throws ddp::Error
// (usage) if the file cannot be read, is not a tar archive, is compressed, ends within a member, or has a sparse
// member, whose data cannot be read in place.
std::vector<TarMember> list_tar(const std::filesystem::path& file);

}  // namespace ddp::format
