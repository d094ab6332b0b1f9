#include "base/paths.h"

#include <sys/stat.h>
#include <algorithm>
#include <new>
#include <set>

namespace ddp::paths {
namespace fs = std::filesystem;
namespace {

void require(const std::error_code& error, const std::string& act, const fs::path& path,
             const std::string& remedy = "") {
  if (error) throw usage_error("cannot " + act + ": " + error.message(), path.string(), remedy);
}

void require_change(const std::error_code& error, const std::string& act, const fs::path& path) {
  if (error) throw training_error("cannot " + act + ": " + error.message(), path.string());
}

// Behind a symbolic link, ".." is the parent of the link's target: it must stay.
fs::path without_dots(const fs::path& whole) {
  fs::path normal = whole.lexically_normal();
  if (std::find(whole.begin(), whole.end(), "..") == whole.end()) return normal;
  std::error_code error;
  const fs::path meant = fs::weakly_canonical(whole, error);
  return error || meant == fs::weakly_canonical(normal, error) ? normal : whole;
}

}  // namespace

fs::path working_folder() {
  std::error_code error;
  fs::path folder = fs::current_path(error);
  require(error, "find the working folder", "", "somebody may have deleted it: change into a folder that exists");
  return folder;
}

fs::path absolute(const fs::path& path) {
  if (path.is_absolute()) return without_dots(path);
  std::error_code error;
  const fs::path folder = fs::current_path(error);
  require(error, "make this absolute without the working folder", path,
          "change into a folder that exists, or give a path that begins with \"/\"");
  return without_dots(folder / path);
}

fs::path without_links(const fs::path& path) {
  std::error_code error;
  fs::path found = fs::canonical(path, error);
  require(error, "follow the path", path);
  return found;
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require_change(error, "make the folder", folder);
}

void refuse_dangling_link(const fs::path& folder) {
  for (fs::path part = folder; part.has_relative_path(); part = part.parent_path()) {
    std::error_code no_link;
    const fs::path target = fs::read_symlink(part, no_link);
    if (no_link || fs::status(part, no_link).type() != fs::file_type::not_found) continue;
    throw usage_error("is a link to " + target.string() + ", which is not there", part.string(),
                      "make that folder, or name another one; for results: --results DIR");
  }
}

void remove_all(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  require_change(error, "remove it", path);
}

void remove_oldest(const fs::path& cache, const std::string& prefix, const std::optional<std::string>& extension,
                   std::size_t kept) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  for (const fs::path& entry : entries(cache)) {
    if (!entry.filename().string().starts_with(prefix) || (extension && entry.extension() != *extension)) continue;
    std::error_code gone;
    const fs::file_time_type used = fs::last_write_time(entry, gone);
    if (!gone) found.emplace_back(used, entry);
  }
  if (found.size() <= kept) return;
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; i < found.size() - kept; ++i) {
    std::error_code gone;
    fs::remove_all(found[i].second, gone);
  }
}

void rename(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  require_change(error, "rename it to " + to.string(), from);
}

std::int64_t size_on_disk(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::set<ino_t> seen;
  std::error_code error;
  const auto skip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, skip, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat status {};
    if (lstat(entry->path().c_str(), &status) != 0) continue;
    if (status.st_nlink == 1 || S_ISDIR(status.st_mode) || seen.insert(status.st_ino).second) {
      bytes += std::int64_t{status.st_blocks} * 512;
    }
  }
  return bytes;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    found.push_back(entry->path());
  }
  require(error, "read the folder", folder);
  return found;
}

fs::path program() {
  std::error_code error;
  fs::path found = fs::read_symlink("/proc/self/exe", error);
  require(error, "find the program's own file", "/proc/self/exe", "mount /proc");
  return found;
}

}  // namespace ddp::paths

namespace ddp {
namespace {

// Not std::isalnum, which depends on the locale.
bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

Error as_error(const std::exception& error) {
  if (const auto* own = dynamic_cast<const Error*>(&error)) return *own;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return training_error("not enough memory");
  if (const auto* files = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    std::string where = files->path1().string();
    if (!files->path2().empty()) where += ", " + files->path2().string();
    // The exception's own what() is this text plus the paths in brackets.
    return training_error(files->std::system_error::what(), where);
  }
  return training_error(std::string("internal error: ") + error.what(), "",
                        "this is a bug in ddp-exp: please report it with the command line");
}

bool is_safe_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestSafeName && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), is_safe);
}

}  // namespace ddp
