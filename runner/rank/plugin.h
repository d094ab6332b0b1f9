#pragma once

#include <filesystem>
#include <functional>

#include "base/error.h"

namespace ddp::rank {

// Loads the library compiled from the files of `sources`; its components register themselves. Throws ddp::Error (usage)
// if the library cannot be loaded. If its code throws during loading, calls `end` with the reason; `end` must end the
// process, because exceptions cannot pass through the loader.
void load_plugin(const std::filesystem::path& library, const std::function<void(const Error&)>& end);

}  // namespace ddp::rank
