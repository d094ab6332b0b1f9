#pragma once

#include <filesystem>
#include <memory>

#include "format/table.h"

namespace ddp::tables {

// Opens a CSV file. Throws ddp::Error (usage) if it is empty or its header names a column twice.
std::unique_ptr<format::TableFile> open_csv(const std::filesystem::path& file, const format::TableOptions& options);

}  // namespace ddp::tables
