#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/table.h"

namespace ddp::tables {

// Reads a CSV that the fast reader refused once more, row by row, and says what is wrong with it: up to 20 cells and
// rows, each with its line. `refusal`: what is said where nothing wrong is found.
Error csv_mistakes(const std::filesystem::path& file, const format::TableOptions& options,
                   const std::vector<format::ColumnInfo>& columns, const std::vector<format::WantedColumn>& wanted,
                   const Error& refusal);

}  // namespace ddp::tables
