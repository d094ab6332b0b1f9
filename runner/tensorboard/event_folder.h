#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

namespace ddp::tensorboard {

// Begins the event file of a folder: `beginning`, then the points of the folder's other event files up to `step` and
// before `epoch`; those files are empty then. Returns it, open to be appended to. Throws ddp::Error, and then all
// is as it was.
FileDescriptor begin_event_file(const std::filesystem::path& folder, std::string beginning, std::int64_t step,
                                std::int64_t epoch);

}  // namespace ddp::tensorboard
