#pragma once

#include <filesystem>
#include <memory>

#include "tables/batches.h"

namespace ddp::tables {

// Opens JSON lines: one object per line. The first lines determine the columns and their types. Throws ddp::Error
// (usage) if one of these lines is not an object.
std::unique_ptr<BatchSource> open_jsonl(const std::filesystem::path& file);

}  // namespace ddp::tables
