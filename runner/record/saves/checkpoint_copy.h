#pragma once

#include <filesystem>

namespace ddp::record {

// Copies a complete checkpoint into the checkpoints of another run, as its latest. The copy shares the bytes on disk
// with the source if the file system can do that. The copy is checked as a load would check it, and appears whole or
// not at all. Returns the copy's folder. Throws ddp::Error (usage) if the copy fails.
std::filesystem::path copy_checkpoint(const std::filesystem::path& checkpoint,
                                      const std::filesystem::path& checkpoints);

}  // namespace ddp::record
