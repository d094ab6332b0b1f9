#pragma once

#include <filesystem>

#include "launch/plugin/sdk.h"

namespace ddp::launch {

// Returns the precompiled header that every source begins with: the build's, or one in this folder of the cache, which
// is made if it is missing (about 20 s, once for each build of this program). Empty: nothing can be precompiled. Throws
// ddp::Error, and Stopped.
std::filesystem::path precompiled_header(const Sdk& sdk, const std::filesystem::path& cache);

}  // namespace ddp::launch
