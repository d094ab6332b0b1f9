#include "datasets/image/listing.h"

#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <dirent.h>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/installation.h"
#include "base/paths.h"
#include "base/url.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"

namespace ddp::datasets {
namespace fs = std::filesystem;

namespace {

// The treatment of the files of an ending. ImageFolder takes the first two; no decoder reads `unread`.
enum class Fate { read, unread, left_out };
struct Ending {
  std::string_view text;
  Fate fate;
};
constexpr std::array kEndings{
    Ending{".jpg", Fate::read},      Ending{".jpeg", Fate::read},     Ending{".png", Fate::read},
    Ending{".webp", Fate::read},     Ending{".ppm", Fate::unread},    Ending{".bmp", Fate::unread},
    Ending{".pgm", Fate::unread},    Ending{".tif", Fate::unread},    Ending{".tiff", Fate::unread},
    Ending{".gif", Fate::left_out},  Ending{".jfif", Fate::left_out}, Ending{".avif", Fate::left_out},
    Ending{".heic", Fate::left_out}, Ending{".jp2", Fate::left_out}};
// The readable ones.
constexpr const char* kEndingsInWords = ".jpg, .jpeg, .png or .webp";

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Returns the ending of an image's name; null for other files.
const Ending* ending_of(const std::string& name) {
  const std::string lower = in_lower_case(name);
  const auto* const found =
      std::find_if(kEndings.begin(), kEndings.end(), [&](const Ending& one) { return lower.ends_with(one.text); });
  return found == kEndings.end() ? nullptr : found;
}

bool is_taken(const Ending* ending) { return ending != nullptr && ending->fate != Fate::left_out; }

// Counts of images that are not read, by their endings.
using Unread = std::map<Fate, std::map<std::string_view, std::int64_t>>;

std::vector<std::string> warnings_of(const Unread& unread) {
  std::vector<std::string> all;
  for (const auto& [fate, counts] : unread) {
    std::string text = "dataset.path has ";
    for (const auto& [ending, count] : counts) {
      text += (ending == counts.begin()->first ? "" : ", ") + std::to_string(count) + " " + std::string(ending);
    }
    const std::string why = fate == Fate::unread ? "do not decode" : "are left out, as by torchvision's ImageFolder";
    all.push_back(text + ": such files " + why + "; convert them to PNG");
  }
  return all;
}

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

// The images below root/path, relative to the root. Adds those that are not read to `unread`, if it is given.
std::vector<std::string> images_below(const fs::path& root, const std::string& path, Unread* unread = nullptr) {
  std::vector<Identity> above;
  std::vector<WalkedFolder> folders;
  walk(root, path, above, folders);
  std::sort(folders.begin(), folders.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  std::vector<std::string> images;
  for (const WalkedFolder& folder : folders) {
    for (const std::string& file : folder.files) {
      const Ending* const ending = ending_of(file);
      if (unread != nullptr && ending != nullptr && ending->fate != Fate::read) ++(*unread)[ending->fate][ending->text];
      if (is_taken(ending)) images.push_back(folder.path.empty() ? file : folder.path + "/" + file);
    }
  }
  return images;
}

constexpr std::uint64_t kLargestIndex = std::uint64_t{4} << 30;

// The first line of an index.
std::string head_of(const format::Bytes& archive) {
  return "tar index 2: " + record::hash_hex(archive.identity()) + "\n";
}

std::string text_of(const std::vector<format::TarMember>& members) {
  std::string text;
  for (const format::TarMember& member : members) {
    text += std::to_string(member.offset) + " " + std::to_string(member.size) + " " + member.name + '\0';
  }
  return text;
}

// Takes a number and the blank after it from `text`.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || end == text.data() + text.size() || *end != ' ') return {};
  text.remove_prefix(static_cast<std::size_t>(end + 1 - text.data()));
  return number;
}

std::optional<std::vector<format::TarMember>> members_in(std::string_view text) {
  std::vector<format::TarMember> members;
  while (!text.empty()) {
    const auto offset = take_number(text);
    const auto size = offset ? take_number(text) : std::nullopt;
    const std::size_t end = text.find('\0');
    if (!size || end == std::string_view::npos) return {};
    members.push_back({.name = std::string(text.substr(0, end)), .offset = *offset, .size = *size});
    text.remove_prefix(end + 1);
  }
  return members;
}

// Returns the cached members; nothing if the cache is damaged or the archive has changed.
std::optional<std::vector<format::TarMember>> kept_members(const fs::path& index, const std::string& head) {
  try {
    std::error_code none;
    if (!fs::exists(index, none)) return {};
    const std::string text = record::read_text(index, kLargestIndex);
    if (!text.starts_with(head)) return {};
    const std::size_t end = text.find('\n', head.size());
    if (end == std::string::npos) return {};
    const std::string body = text.substr(end + 1);
    if (text.substr(head.size(), end - head.size()) != record::hash_hex(body)) return {};
    return members_in(body);
  } catch (const Error&) {
    return {};
  }
}

void keep_members(const fs::path& index, const std::string& head, const std::vector<format::TarMember>& members) {
  try {
    paths::make_folders(index.parent_path());
    const std::string body = text_of(members);
    record::write_atomically(index, head + record::hash_hex(body) + "\n" + body);
  } catch (const Error&) {
    // Without the cache, the next process lists the archive again.
  }
}

// Does the name of a file or a folder on the path begin with a dot? "./1.jpg" is not hidden.
bool is_hidden(const fs::path& path) {
  return std::any_of(path.begin(), path.end(), [](const fs::path& part) {
    return part.native().starts_with('.') && part != "." && part != "..";
  });
}

// Returns the key and the field of a member; nothing if it belongs to no sample.
std::optional<std::pair<std::string, std::string>> key_and_field(const std::string& name) {
  const std::size_t base = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  const std::size_t dot = name.find('.', base);
  if (dot == std::string::npos || is_hidden(name)) return {};
  if (name.starts_with("__") && name.ends_with("__")) return {};
  return std::pair{name.substr(0, dot), in_lower_case(name.substr(dot + 1))};
}

using Field = std::pair<std::string, const format::TarMember*>;

const format::TarMember* find_field(const std::vector<Field>& fields, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const auto& [field, member] : fields) {
      if (field == name) return member;
    }
  }
  return nullptr;
}

std::string joined_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "." : " or .") + name;
  return text;
}

}  // namespace

FolderListing list_folder(const fs::path& folder) {
  FolderListing listing;
  Entries entries = entries_of(folder);
  if (entries.folders.empty()) {
    const bool has_images = std::any_of(entries.files.begin(), entries.files.end(),
                                        [](const std::string& name) { return is_taken(ending_of(name)); });
    const std::string may_be_class = "; if this is the folder of one class, give the folder above it";
    throw usage_error(has_images ? "contains images, but no folder of a class" : "contains no folder", folder.string(),
                      "dataset.path is a folder with one folder per class: path/cat/1.jpg, path/dog/1.jpg" +
                          (has_images ? may_be_class : ""));
  }
  listing.classes = std::move(entries.folders);
  Unread unread;
  for (std::size_t number = 0; number < listing.classes.size(); ++number) {
    std::vector<std::string> images = images_below(folder, listing.classes[number], &unread);
    if (images.empty()) {
      throw usage_error("is the folder of a class but contains no image", (folder / listing.classes[number]).string(),
                        std::string("add images whose names end in ") + kEndingsInWords + ", or remove the folder");
    }
    listing.targets.insert(listing.targets.end(), images.size(), static_cast<std::int64_t>(number));
    std::move(images.begin(), images.end(), std::back_inserter(listing.files));
  }
  listing.warnings = warnings_of(unread);
  return listing;
}

std::vector<std::string> list_images(const fs::path& folder) {
  std::vector<std::string> images = images_below(folder, "");
  if (!images.empty()) return images;
  throw usage_error("holds no image", folder.string(), std::string("names of images end in ") + kEndingsInWords);
}

fs::path index_file_of(const fs::path& archive) {
  const std::string name = archive.string();
  return cache_folder() / "tar" / record::hash_hex(is_url(name) ? name : paths::absolute(archive).string());
}

std::vector<format::TarMember> members_of(const fs::path& archive, const format::Bytes& bytes) {
  const std::string head = head_of(bytes);
  const fs::path index = index_file_of(archive);
  if (auto kept = kept_members(index, head)) return std::move(*kept);
  std::vector<format::TarMember> members = format::list_tar(bytes, archive.string());
  // If the archive changed during the listing, the head has changed too.
  if (head_of(bytes) == head && index.is_absolute()) keep_members(index, head, members);
  return members;
}

std::vector<TarSample> samples_of(const std::vector<format::TarMember>& members, const std::vector<std::string>& image,
                                  const std::vector<std::string>& target, bool needs_target,
                                  const std::string& archive) {
  std::vector<TarSample> samples;
  std::string key;
  std::vector<Field> fields;
  const auto end_sample = [&] {
    if (fields.empty()) return;
    const auto* pixels = find_field(fields, image);
    const auto* label = find_field(fields, target);
    if (pixels == nullptr) {
      throw usage_error("the sample \"" + key + "\" has no image: no member ends in " + joined_names(image), archive,
                        "see dataset.image");
    }
    if (label == nullptr && needs_target) {
      throw usage_error("the sample \"" + key + "\" has no class: no member ends in " + joined_names(target), archive,
                        "see dataset.target");
    }
    samples.push_back({.name = pixels->name, .offset = pixels->offset, .size = pixels->size});
    if (label != nullptr) {
      samples.back().target_offset = label->offset;
      samples.back().target_size = label->size;
    }
    fields.clear();
  };
  for (const format::TarMember& member : members) {
    auto named = key_and_field(member.name);
    if (!named) continue;
    if (named->first != key) end_sample();
    key = std::move(named->first);
    for (const auto& [field, other] : fields) {
      if (field == named->second) throw usage_error("has the member \"" + member.name + "\" twice", archive);
    }
    fields.emplace_back(std::move(named->second), &member);
  }
  end_sample();
  return samples;
}

}  // namespace ddp::datasets
