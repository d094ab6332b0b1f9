#include "base/installation.h"

#include <cstdlib>

#include "base/own_command.h"
#include "base/paths.h"

namespace ddp {

std::filesystem::path program_folder() { return paths::program().parent_path(); }

bool in_checkout() {
  std::error_code unreadable;
  return std::filesystem::exists(program_folder().parent_path() / "CMakeCache.txt", unreadable);
}

std::string how_to_mend(bool gpus) {
  if (in_checkout()) {
    return gpus ? "fetch the GPU libraries and build it: " + setup_command("--cuda --setup-only")
                : "build it again: " + setup_command("--setup-only");
  }
  return gpus ? "install a package of ddp-exp that was made with the GPU libraries, or choose backend gloo"
              : "install ddp-exp again";
}

std::filesystem::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::filesystem::path(cache) / "ddp-exp";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : "") / ".cache/ddp-exp";
}

std::vector<std::filesystem::path> default_places(const std::string& file) {
  return {cache_folder() / file, program_folder().parent_path() / file};
}

}  // namespace ddp
