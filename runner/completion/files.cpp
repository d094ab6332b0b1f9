#include "completion/files.h"

#include <algorithm>
#include <cstdlib>

namespace ddp::completion {
namespace fs = std::filesystem;
namespace {

bool ends_in_one_of(const std::string& name, const std::vector<std::string_view>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return name.ends_with(e); });
}

template <class Visit>
void each_entry(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) visit(*entry);
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

}  // namespace

fs::path with_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return home != nullptr && path.starts_with("~/") ? fs::path(home) / path.substr(2) : fs::path(path);
}

Candidates files(const std::string& typed, const std::vector<std::string_view>& endings) {
  const std::size_t slash = typed.rfind('/') + 1;  // npos + 1 is 0
  const std::string folder = typed.substr(0, slash);
  const std::string begun = typed.substr(slash);
  Candidates found;
  each_entry(folder.empty() ? "." : with_home(folder), [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begun) || (name.starts_with('.') && !begun.starts_with('.'))) return;
    if (is_folder(entry)) {
      found.push_back({folder + name + "/"});
    } else if (ends_in_one_of(name, endings)) {
      found.push_back({folder + name});
    }
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.text < b.text; });
  return found;
}

Candidates folders(const std::string& typed) { return files(typed, {}); }

std::vector<std::string> folder_names(const fs::path& folder, std::string_view typed) {
  std::vector<std::string> names;
  each_entry(folder, [&](const fs::directory_entry& entry) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(typed) && !name.starts_with('.') && is_folder(entry)) names.push_back(std::move(name));
  });
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ddp::completion
