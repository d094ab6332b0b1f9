#pragma once

#include <filesystem>
#include <string>

namespace ddp {

// libddp_tables.so, which reads tables, beside the other libraries of the program. It is not part of every build.
std::filesystem::path tables_library();

// The folder of Arrow's libraries, which libddp_tables.so needs: in the cache folder, where scripts/ddp-exp keeps what
// it fetches, or in the folder above the program, where pip puts pyarrow. Empty: in neither; the run path of
// libddp_tables.so may know another one.
std::filesystem::path arrow_folder();

// The sonames of Arrow's libraries, in the order in which they are loaded.
inline constexpr const char* kArrowLibraries[] = {"libarrow.so.2600", "libparquet.so.2600"};

// The remedy where what reads tables is missing.
std::string how_to_get_tables();

}  // namespace ddp
