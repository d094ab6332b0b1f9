#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddp::datasets {

// The images below a folder that has one folder per class.
struct FolderListing {
  std::vector<std::string> classes;  // sorted by name
  std::vector<std::string> files;    // relative to the folder
  std::vector<std::int64_t> targets;
};

// Lists images in the order of torchvision's ImageFolder (torchvision/datasets/folder.py): classes by name, the folders
// of a class by path, the files of a folder by name. Images are files whose name ends in .jpg, .jpeg, .png, .ppm, .bmp,
// .pgm, .tif, .tiff or .webp, in any case. Links are followed. Unlike ImageFolder, skips files and folders whose names
// begin with a dot. Throws ddp::Error (usage) if the folder has no class, or a class has no image.
FolderListing list_folder(const std::filesystem::path& folder);

// Returns the images of a folder and its subfolders, in the order of their paths, without classes. Throws ddp::Error
// (usage) if it finds none.
std::vector<std::string> list_images(const std::filesystem::path& folder);

// True if the name ends as list_folder requires.
bool is_image_name(const std::string& name);

}  // namespace ddp::datasets
