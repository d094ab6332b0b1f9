#include "base/installation.h"

#include <dlfcn.h>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/error.h"
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

std::filesystem::path objects_folder() { return cache_folder() / "objects"; }

std::vector<std::filesystem::path> default_places(const std::string& file) {
  return {cache_folder() / file, program_folder().parent_path() / file};
}

namespace {

bool file_can_be_seen(const std::filesystem::path& file) {
  std::error_code unreadable;
  return std::filesystem::exists(file, unreadable);
}

void* load(const std::filesystem::path& file, const OptionalLibrary& needs_it) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw usage_error("cannot be loaded: " + std::string(dlerror()), file.filename().string(), needs_it.remedy());
  }
  return library;
}

// If a later library needs a library of the same name, the loader reuses the loaded one. Therefore the needed libraries
// may be in another folder than at link time.
void* load_with_needed(const OptionalLibrary& library) {
  if (!library.is_built()) {
    throw usage_error("is missing; it " + library.purpose, library.file().string(), library.remedy());
  }
  if (const std::filesystem::path folder = library.needed_folder(); !folder.empty()) {
    for (const std::string& name : library.needed) load(folder / name, library);
  }
  return load(library.file(), library);
}

}  // namespace

// This code is in libddp_core.so, which is beside the program; a test program is in another folder.
std::filesystem::path OptionalLibrary::file() const {
  Dl_info here{};
  const bool known = dladdr(reinterpret_cast<const void*>(&tables_library), &here) != 0 && here.dli_fname != nullptr;
  const std::filesystem::path folder = known ? std::filesystem::path(here.dli_fname).parent_path() : program_folder();
  return folder / ("libddp_" + name + ".so");
}

bool OptionalLibrary::is_built() const { return file_can_be_seen(file()); }

std::filesystem::path OptionalLibrary::needed_folder() const {
  for (const std::filesystem::path& folder : folders) {
    if (std::all_of(needed.begin(), needed.end(),
                    [&](const auto& file_name) { return file_can_be_seen(folder / file_name); })) {
      return folder;
    }
  }
  return {};
}

std::string OptionalLibrary::remedy() const {
  if (in_checkout()) return "fetch and build it: " + setup_command("--obtain " + name);
  if (!is_built()) return "make a package with it: scripts/package";
  if (requirement.empty()) return "install ddp-exp again";
  return "install " + package + " beside ddp-exp: pip install " + requirement;
}

void* OptionalLibrary::entry(const char* function) const {
  static std::mutex loading;
  static std::map<std::string, void*> loaded;
  const std::lock_guard lock(loading);
  void*& library = loaded[name];
  if (library == nullptr) library = load_with_needed(*this);
  void* address = dlsym(library, function);
  if (address == nullptr) {
    throw usage_error("belongs to another build: it has no " + std::string(function), file().string(), how_to_mend());
  }
  return address;
}

namespace {

OptionalLibrary with_arrow(const std::string& name, const std::string& purpose, const std::string& needed,
                           const std::string& cmake_option) {
  return {.name = name,
          .purpose = purpose,
          .needed = {"libarrow.so.2600", needed},
          .package = "Arrow",
          .requirement = "pyarrow==26.0.1",
          .folders = {cache_folder() / "arrow-26.0.1/pyarrow", program_folder().parent_path() / "pyarrow"},
          .cmake_option = cmake_option};
}

}  // namespace

const OptionalLibrary& tables_library() {
  static const OptionalLibrary library =
      with_arrow("tables", "reads and writes tables", "libparquet.so.2600", "-DDDP_ARROW=");
  return library;
}

const OptionalLibrary& objects_library() {
  static const OptionalLibrary library =
      with_arrow("objects", "reads data from URLs", "libarrow_s3.so.2600", "-DDDP_OBJECTS=ON -DDDP_ARROW=");
  return library;
}

const OptionalLibrary& images_library() {
  static const OptionalLibrary library{
      .name = "images", .purpose = "decodes images and reads tar archives", .cmake_option = "-DDDP_IMAGES=ON"};
  return library;
}

const OptionalLibrary& serve_library() {
  static const OptionalLibrary library{
      .name = "serve", .purpose = "serves pages of results", .cmake_option = "-DDDP_SERVE=ON"};
  return library;
}

const OptionalLibrary& optional_library(const std::string& name) {
  for (const OptionalLibrary* library : {&tables_library(), &objects_library(), &images_library(), &serve_library()}) {
    if (library->name == name) return *library;
  }
  throw usage_error("no optional library is named \"" + name + "\"", "",
                    "\"tables\", \"objects\", \"images\" or \"serve\"");
}

}  // namespace ddp
