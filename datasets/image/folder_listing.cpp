#include "datasets/image/folder_listing.h"

#include <dirent.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace ddp::datasets {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> kImageEndings{".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                                        ".pgm", ".tif",  ".tiff", ".webp"};
// The readable ones of these endings.
constexpr const char* kEndingsInWords = ".jpg, .jpeg, .png or .webp";

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// The entries of a folder, without the hidden ones, such as .ipynb_checkpoints and macOS's ._1.jpg.
struct Entries {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};

// readdir reports the type of most entries, so most files need no stat call.
bool is_folder(const fs::path& folder, const dirent& entry) {
  if (entry.d_type == DT_DIR) return true;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return false;
  struct stat s {};
  return stat((folder / entry.d_name).c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

Entries entries_of(const fs::path& folder) {
  const std::unique_ptr<DIR, CloseFolder> open(opendir(folder.c_str()));
  if (!open) throw usage_error("cannot be listed: " + errno_text(errno), folder.string());
  Entries entries;
  errno = 0;
  while (const dirent* entry = readdir(open.get())) {
    const std::string name = entry->d_name;
    if (!name.starts_with('.')) (is_folder(folder, *entry) ? entries.folders : entries.files).push_back(name);
    errno = 0;
  }
  if (errno != 0) throw usage_error("cannot be listed: " + errno_text(errno), folder.string());
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.files.begin(), entries.files.end());
  return entries;
}

// Device and inode of a folder.
using Identity = std::pair<dev_t, ino_t>;

Identity identity_of(const fs::path& folder) {
  struct stat s {};
  if (stat(folder.c_str(), &s) != 0) throw usage_error("cannot be read: " + errno_text(errno), folder.string());
  return {s.st_dev, s.st_ino};
}

struct WalkedFolder {
  std::string path;  // relative to the root
  std::vector<std::string> files;
};

// Adds a folder and its subfolders to `found`. `above`: the folders that contain it, to detect a cycle of links.
void walk(const fs::path& root, const std::string& path, std::vector<Identity>& above,
          std::vector<WalkedFolder>& found) {
  const fs::path folder = root / path;
  const Identity identity = identity_of(folder);
  if (std::find(above.begin(), above.end(), identity) != above.end()) {
    throw usage_error("is a link to a folder that contains it", folder.string(), "remove the link");
  }
  above.push_back(identity);
  Entries entries = entries_of(folder);
  found.push_back({.path = path, .files = std::move(entries.files)});
  for (const std::string& inner : entries.folders) walk(root, path.empty() ? inner : path + "/" + inner, above, found);
  above.pop_back();
}

// The images below root/path, relative to the root.
std::vector<std::string> images_below(const fs::path& root, const std::string& path) {
  std::vector<Identity> above;
  std::vector<WalkedFolder> folders;
  walk(root, path, above, folders);
  std::sort(folders.begin(), folders.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  std::vector<std::string> images;
  for (const WalkedFolder& folder : folders) {
    for (const std::string& file : folder.files) {
      if (is_image_name(file)) images.push_back(folder.path.empty() ? file : folder.path + "/" + file);
    }
  }
  return images;
}

}  // namespace

bool is_image_name(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(kImageEndings.begin(), kImageEndings.end(),
                     [&](std::string_view ending) { return lower.ends_with(ending); });
}

FolderListing list_folder(const fs::path& folder) {
  FolderListing listing;
  Entries entries = entries_of(folder);
  if (entries.folders.empty()) {
    const bool has_images = std::any_of(entries.files.begin(), entries.files.end(), is_image_name);
    const std::string may_be_class = "; if this is the folder of one class, give the folder above it";
    throw usage_error(has_images ? "contains images, but no folder of a class" : "contains no folder", folder.string(),
                      "dataset.path is a folder with one folder per class: path/cat/1.jpg, path/dog/1.jpg" +
                          (has_images ? may_be_class : ""));
  }
  listing.classes = std::move(entries.folders);
  for (std::size_t number = 0; number < listing.classes.size(); ++number) {
    std::vector<std::string> images = images_below(folder, listing.classes[number]);
    if (images.empty()) {
      throw usage_error("is the folder of a class but contains no image", (folder / listing.classes[number]).string(),
                        std::string("add images whose names end in ") + kEndingsInWords + ", or remove the folder");
    }
    listing.targets.insert(listing.targets.end(), images.size(), static_cast<std::int64_t>(number));
    std::move(images.begin(), images.end(), std::back_inserter(listing.files));
  }
  return listing;
}

std::vector<std::string> list_images(const fs::path& folder) {
  std::vector<std::string> images = images_below(folder, "");
  if (!images.empty()) return images;
  throw usage_error("holds no image", folder.string(), std::string("names of images end in ") + kEndingsInWords);
}

}  // namespace ddp::datasets
