#include "base/glob.h"

#include <glob.h>
#include <algorithm>
#include <filesystem>

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

}  // namespace ddp
