#pragma once

#include <filesystem>
#include <memory>

#include <arrow/io/interfaces.h>

#include "tables/batches.h"

namespace ddp::tables {

// Feather is Arrow's own file format. Throws ddp::Error (usage) if Arrow refuses the file.
std::unique_ptr<BatchSource> open_feather(const std::filesystem::path& file,
                                          std::shared_ptr<arrow::io::RandomAccessFile> bytes);

}  // namespace ddp::tables
