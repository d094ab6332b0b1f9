#include "base/glob.h"

#include <glob.h>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>

#include "base/error.h"

namespace ddp {

std::vector<std::string> matching_paths(const std::string& path) {
  std::error_code unreadable;
  const bool is_pattern = path.find_first_of("*?[") != std::string::npos;
  if (!is_pattern || std::filesystem::exists(path, unreadable)) return {path};
  glob_t found{};
  const int result = glob(path.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths;
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  if (result == GLOB_NOSPACE) throw usage_error("matches more files than memory can list", path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string files_of_folder_in_words(const std::string& folder, const std::vector<std::string>& endings) {
  std::map<std::string, std::int64_t> counts;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const std::string name = entry->path().filename().string();
    if (!entry->is_regular_file(gone) || name.starts_with('.')) continue;
    const auto ending = std::find_if(endings.begin(), endings.end(),
                                     [&](const auto& one) { return name.size() > one.size() && name.ends_with(one); });
    if (ending != endings.end()) ++counts[*ending];
  }
  if (counts.empty()) {
    std::string all;
    for (const std::string& one : endings) all += (all.empty() ? "" : ", ") + one;
    return "give a file; this folder holds none that ends in " + all;
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return "name the files in it: '" + (std::filesystem::path(folder) / ("*" + most->first)).string() + "'";
}

}  // namespace ddp
