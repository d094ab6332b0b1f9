#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/table.h"

namespace ddp::tables {

// Reads a CSV file that the fast reader refused again, row by row, and reports its mistakes: up to 20 cells, columns
// and rows, each with its line. Returns `refusal` if it finds no mistake.
Error csv_mistakes(const std::filesystem::path& file, const format::TableOptions& options,
                   const std::vector<format::ColumnInfo>& columns, const std::vector<format::WantedColumn>& all,
                   const Error& refusal);

}  // namespace ddp::tables
