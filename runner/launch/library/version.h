#pragma once

#include <string>

namespace ddp::launch {

extern const char* const kVersion;  // the project's, of CMakeLists.txt
inline constexpr const char* kLibTorchVersion = "2.11.0";

// Tells builds apart: "0.1.0+1a2b3c4d5e6f", with a hash of all sources; and the compiler's version, since it too
// decides bits.
std::string build_id();

}  // namespace ddp::launch
