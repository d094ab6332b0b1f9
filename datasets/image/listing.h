#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "format/image.h"

namespace ddp::datasets {

// The images below a folder that has one folder per class.
struct FolderListing {
  std::vector<std::string> classes;  // sorted by name
  std::vector<std::string> files;    // relative to the folder
  std::vector<std::int64_t> targets;
  std::vector<std::string> warnings;  // of images that are not read
};

// Lists images in the order of torchvision's ImageFolder (torchvision/datasets/folder.py): classes by name, the folders
// of a class by path, the files of a folder by name. Images are files whose name ends in .jpg, .jpeg, .png, .ppm, .bmp,
// .pgm, .tif, .tiff or .webp, in any case. Links are followed. Unlike ImageFolder, skips files and folders whose names
// begin with a dot. Throws ddp::Error (usage) if the folder has no class, or a class has no image.
FolderListing list_folder(const std::filesystem::path& folder);

// Returns the images of a folder and its subfolders, in the order of their paths, without classes. Throws ddp::Error
// (usage) if it finds none.
std::vector<std::string> list_images(const std::filesystem::path& folder);

// Returns the members of an archive, in their order. The folder "tar" of the cache folder keeps them, a file for each
// path; a cached list is valid as long as the identity of the archive's bytes does not change. If an entry is damaged
// or cannot be written, the archive's headers are read again. Throws what format::list_tar throws.
std::vector<format::TarMember> members_of(const std::filesystem::path& archive, const format::Bytes& bytes);

// Returns the cache file for the members of this archive.
std::filesystem::path index_file_of(const std::filesystem::path& archive);

// The image of a sample of a WebDataset, and its class.
struct TarSample {
  std::string name;  // name of the image's member
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::int64_t target_offset = -1;  // -1: the sample has no target
  std::int64_t target_size = 0;
};

// Returns the samples of an archive. Consecutive members with the same key form a sample. The key is the name up to the
// first dot after the last slash; the rest of the name, in lower case, is the member's field. `image`, `target`: names
// of fields, in the order of preference. Members without a key, members named __x__, and members that are hidden or in
// a hidden folder, belong to no sample. Throws ddp::Error (usage), which names `archive`, if a sample has no image, has
// a field twice, or lacks a target although `needs_target` is true.
std::vector<TarSample> samples_of(const std::vector<format::TarMember>& members, const std::vector<std::string>& image,
                                  const std::vector<std::string>& target, bool needs_target,
                                  const std::string& archive);

}  // namespace ddp::datasets
