#pragma once

#include <filesystem>

namespace ddp::record {

// Puts a copy of a complete checkpoint among the checkpoints of another run, as the latest of that run. On disk the
// copy shares the bytes of the first one, where the file system can do that. The copy is checked as a load would check
// it, and is there whole or not at all. Returns its folder. Throws ddp::Error (usage) where it cannot be made.
std::filesystem::path copy_checkpoint(const std::filesystem::path& checkpoint,
                                      const std::filesystem::path& checkpoints);

}  // namespace ddp::record
