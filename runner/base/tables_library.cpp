#include "base/tables_library.h"

#include <dlfcn.h>
#include <algorithm>
#include <array>

#include "base/installation.h"

namespace ddp {
namespace {

constexpr const char* kFetchedArrow = "arrow-26.0.1/pyarrow";
constexpr const char* kArrowBeside = "pyarrow";

}  // namespace

// This code lies in libddp_core.so, which is beside the program; a test program lies elsewhere.
std::filesystem::path tables_library() {
  Dl_info here{};
  const bool known = dladdr(reinterpret_cast<const void*>(&tables_library), &here) != 0 && here.dli_fname != nullptr;
  const std::filesystem::path folder = known ? std::filesystem::path(here.dli_fname).parent_path() : program_folder();
  return folder / "libddp_tables.so";
}

std::filesystem::path arrow_folder() {
  for (const std::filesystem::path& folder :
       std::array{cache_folder() / kFetchedArrow, program_folder().parent_path() / kArrowBeside}) {
    const bool whole = std::all_of(std::begin(kArrowLibraries), std::end(kArrowLibraries), [&](const char* name) {
      std::error_code unreadable;
      return std::filesystem::exists(folder / name, unreadable);
    });
    if (whole) return folder;
  }
  return {};
}

std::string how_to_get_tables() {
  return in_checkout() ? "fetch and build it: scripts/ddp-exp --obtain tables"
                       : "install Arrow beside ddp-exp: pip install pyarrow==26.0.1";
}

}  // namespace ddp
