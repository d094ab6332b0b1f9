#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "format/tar.h"

namespace ddp::datasets {

// The members of an archive, in their order. The folder "tar" of the cache folder keeps them, a file for each path, and
// gives them again while the archive has the size and time that it had. An entry that is damaged, or that cannot be
// written, costs no more than reading the archive's headers once more. Throws what format::list_tar throws.
std::vector<format::TarMember> members_of(const std::filesystem::path& archive);

// The file of the cache that keeps the members of this archive.
std::filesystem::path index_file_of(const std::filesystem::path& archive);

// The image of a sample of a WebDataset, and its class.
struct TarSample {
  std::string name;  // of the image's member
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::int64_t target_offset = -1;  // -1: it has none
  std::int64_t target_size = 0;
};

// Members that follow each other and have one key are a sample: the name up to the first dot behind the last slash. The
// rest of the name, in small letters, is the member's field. `image`, `target`: names of fields, best first. Members
// without a key, and those named __x__, belong to no sample. Throws ddp::Error (usage), which names `archive`, where a
// sample has no image, has a field twice, or has no target although `needs_target`.
std::vector<TarSample> samples_of(const std::vector<format::TarMember>& members, const std::vector<std::string>& image,
                                  const std::vector<std::string>& target, bool needs_target,
                                  const std::string& archive);

}  // namespace ddp::datasets
