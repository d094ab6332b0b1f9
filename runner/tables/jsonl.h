#pragma once

#include <filesystem>
#include <memory>

#include "tables/batches.h"

namespace ddp::tables {

// Opens JSON lines: one object per line. Reads all lines once, since each may have a key that no other has. Throws
// ddp::Error (usage) if a line is not an object.
std::unique_ptr<BatchSource> open_jsonl(const std::filesystem::path& file);

}  // namespace ddp::tables
