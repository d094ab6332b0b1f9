#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// Archives that are read in place: their members lie in the file as they are. Listing one takes libddp_images.so
// (runner/images), which has libarchive; it is loaded by the first process that lists one.
namespace ddp::format {

struct TarMember {
  std::string name;
  std::int64_t offset = 0;  // of the first byte of its data in the archive's file
  std::int64_t size = 0;    // bytes
};

// Returns the regular files of an archive (ustar, pax, GNU), in their order. Reads the headers alone. Throws ddp::Error
// (usage) where the file cannot be read, is no tar archive, is compressed, or ends within a member, and for a sparse
// member, whose data do not lie in the file as they are.
std::vector<TarMember> list_tar(const std::filesystem::path& file);

}  // namespace ddp::format
