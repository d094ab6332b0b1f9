#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp {

// The folder of the running program. Its libraries and components.json are in the same folder.
std::filesystem::path program_folder();

// Returns whether the program runs from the build folder of a checkout, whose scripts can rebuild it.
bool in_checkout();

// The remedy if a part of the program is missing or belongs to another build. `gpus`: the part needs CUDA.
std::string how_to_mend(bool gpus = false);

// The folder where scripts/ddp-exp keeps its downloads: $XDG_CACHE_HOME/ddp-exp, else ~/.cache/ddp-exp.
std::filesystem::path cache_folder();

// The folder there for copies of objects on servers.
std::filesystem::path objects_folder();

// The default places of a file that ddp-exp needs, best first: the cache folder, and the folder above the program,
// where pip installs other packages.
std::vector<std::filesystem::path> default_places(const std::string& file);

// A library of the program that few users need, and that not every build has: libddp_NAME.so. The first command
// that needs it obtains it (launch/library/obtain.h). The first process that calls one of its functions loads it.
struct OptionalLibrary {
  std::string name;     // argument of scripts/ddp-exp --obtain, and value of a component's trait "library"
  std::string purpose;  // "reads and writes tables"
  // Libraries of another package that it needs. They are loaded before it, in this order.
  std::vector<std::string> needed = {};
  std::string package = {};                         // "Arrow"
  std::string requirement = {};                     // argument of pip install: "pyarrow==26.0.1"
  std::vector<std::filesystem::path> folders = {};  // best first
  std::string cmake_option = {};                    // builds it; followed by the parent folder of needed_folder()

  // The library file. It is beside the program's other libraries.
  std::filesystem::path file() const;
  bool is_built() const;
  // Returns the first folder that has all needed libraries. Empty: none has; the library's run path may know another
  // one.
  std::filesystem::path needed_folder() const;
  // The remedy if the library is missing.
  std::string remedy() const;
  // Returns the address of a function of the library; loads the library if it is not loaded yet. Throws ddp::Error
  // (usage) if the library is missing, cannot be loaded, or has no such function.
  void* entry(const char* function) const;
};

// Reads tables, through Arrow (runner/tables).
const OptionalLibrary& tables_library();

// Reads objects on servers, through Arrow (runner/objects).
const OptionalLibrary& objects_library();

// Decodes images, and lists image archives (runner/images).
const OptionalLibrary& images_library();

// Serves live pages of results (runner/serve).
const OptionalLibrary& serve_library();

// Throws ddp::Error (usage) if no library has that name.
const OptionalLibrary& optional_library(const std::string& name);

}  // namespace ddp
