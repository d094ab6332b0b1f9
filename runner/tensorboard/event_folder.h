#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

namespace ddp::tensorboard {

// Begins the event file of a folder with `beginning` and the points of the folder's other event files up to `step` and
// before `epoch`; then empties these files. Returns the file, open for appending. Throws ddp::Error and leaves the
// folder's event files unchanged.
FileDescriptor begin_event_file(const std::filesystem::path& folder, std::string beginning, std::int64_t step,
                                std::int64_t epoch);

}  // namespace ddp::tensorboard
