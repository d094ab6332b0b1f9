#pragma once

#include <filesystem>

#include "launch/plugin/sdk.h"

namespace ddp::launch {

// Returns the header that every source begins with, and that is compiled already: that of the build, or one in this
// folder of the cache, which is made where it is not there (about 20 s, once for each build of this program). Empty:
// there is none to compile. Throws ddp::Error, and Stopped.
std::filesystem::path precompiled_header(const Sdk& sdk, const std::filesystem::path& cache);

}  // namespace ddp::launch
