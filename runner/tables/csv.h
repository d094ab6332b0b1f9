#pragma once

#include <filesystem>
#include <memory>

#include "format/table.h"

namespace ddp::tables {

// Opens a CSV. Throws ddp::Error (usage) where it is empty or its header names a column twice.
std::unique_ptr<format::TableFile> open_csv(const std::filesystem::path& file, const format::TableOptions& options);

}  // namespace ddp::tables
