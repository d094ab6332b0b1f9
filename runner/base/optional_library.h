#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddp {

// A library of the program that few experiments need, and that is not part of every build: libddp_NAME.so. The first
// command that needs it obtains it (launch/library/obtain.h). It is loaded by the first process that calls one of its
// entries.
struct OptionalLibrary {
  std::string name;     // scripts/ddp-exp --obtain takes it, and the trait "library" of a component names it
  std::string purpose;  // "reads and writes tables"
  // Libraries of another package that it needs, loaded before it in this order, and where they are.
  std::vector<std::string> needed = {};
  std::string package = {};                         // "Arrow"
  std::string requirement = {};                     // what pip installs: "pyarrow==26.0.1"
  std::vector<std::filesystem::path> folders = {};  // best first
  std::string cmake_option = {};                    // builds it; the folder above needed_folder() follows

  // The file, beside the other libraries of the program.
  std::filesystem::path file() const;
  bool is_built() const;
  // The first folder that has all that is needed. Empty: none; the run path of the library may know another one.
  std::filesystem::path needed_folder() const;
  // The remedy for an error that it is missing.
  std::string remedy() const;
  // The address of a function of the library, which is loaded where it is not yet. Throws ddp::Error (usage) where the
  // library is missing, cannot be loaded, or has no such function.
  void* entry(const char* function) const;
};

// Reads tables, through Arrow (runner/tables).
const OptionalLibrary& tables_library();

// Decodes images, and lists archives of them (runner/images).
const OptionalLibrary& images_library();

// Throws ddp::Error (usage) where there is none of that name.
const OptionalLibrary& optional_library(const std::string& name);

}  // namespace ddp
