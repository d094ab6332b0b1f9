#pragma once

#include <filesystem>
#include <memory>

#include "tables/batches.h"

namespace ddp::tables {

// Opens JSON lines: one object a line. Its columns and their types are those of the first lines. Throws ddp::Error
// (usage) where one of these is no object.
std::unique_ptr<BatchSource> open_jsonl(const std::filesystem::path& file);

}  // namespace ddp::tables
