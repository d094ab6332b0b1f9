#pragma once

#include <filesystem>
#include <memory>

#include "format/table.h"

namespace ddp::tables {

// Opens a Parquet or a Feather file, distinguished by the first bytes. Throws ddp::Error (usage) if it is neither.
std::unique_ptr<format::TableFile> open_columnar(const std::filesystem::path& file);

// Does the file begin like a Parquet or a Feather file?
bool is_columnar(const std::filesystem::path& file);

}  // namespace ddp::tables
