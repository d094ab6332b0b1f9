#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddp::datasets {

// The images below a folder with one folder a class.
struct FolderListing {
  std::vector<std::string> classes;  // sorted by name
  std::vector<std::string> files;    // relative to the folder
  std::vector<std::int64_t> targets;
};

// Lists them as torchvision's ImageFolder does (torchvision/datasets/folder.py): classes by name; in a class the
// folders by their path, the files of each by name; files whose name ends in .jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif,
// .tiff or .webp, in letters of any case. Links are followed. Throws ddp::Error (usage) where there is no class, or a
// class without an image.
FolderListing list_folder(const std::filesystem::path& folder);

// The images of a folder and of those in it, in the order of their paths, without classes. Throws ddp::Error (usage)
// where there is none.
std::vector<std::string> list_images(const std::filesystem::path& folder);

// Tells an image by its name, by the rule of list_folder.
bool is_image_name(const std::string& name);

}  // namespace ddp::datasets
