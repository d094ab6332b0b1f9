#pragma once

#include <string>

namespace ddp::launch {

extern const char* const kVersion;  // the project's version, from CMakeLists.txt
inline constexpr const char* kLibTorchVersion = "2.11.0";

// Identifies the build: "0.1.0+1a2b3c4d5e6f", with a hash of all sources; and the compiler's version, because it also
// affects the bits.
std::string build_id();

}  // namespace ddp::launch
