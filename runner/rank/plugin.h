#pragma once

#include <filesystem>
#include <functional>

#include "base/error.h"

namespace ddp::rank {

// Loads the library that the files of `sources` were compiled into; what it holds registers itself. Throws ddp::Error
// (usage) where it cannot be loaded. Where its code throws while it is loaded, `end` is told why and ends the process:
// the loader passes on no exception.
void load_plugin(const std::filesystem::path& library, const std::function<void(const Error&)>& end);

}  // namespace ddp::rank
