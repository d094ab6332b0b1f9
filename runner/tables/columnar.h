#pragma once

#include <filesystem>
#include <memory>

#include "format/table.h"

namespace ddp::tables {

// Opens a Parquet or a Feather file, told by its first bytes. Throws ddp::Error (usage) where it is neither.
std::unique_ptr<format::TableFile> open_columnar(const std::filesystem::path& file);

}  // namespace ddp::tables
