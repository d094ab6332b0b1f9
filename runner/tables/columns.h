#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "format/table.h"

namespace ddp::tables {

// Throws ddp::Error (usage) if two columns have the same name. `hint` is added to the error.
void require_distinct(const std::vector<format::ColumnInfo>& columns, const std::filesystem::path& file,
                      const std::string& hint = "");

// Returns the index of each wanted column among the columns of the file. Throws ddp::Error (usage) that names all
// columns that the file lacks. `hint` is added to the error.
std::vector<int> places_of(const std::vector<format::WantedColumn>& wanted,
                           const std::vector<format::ColumnInfo>& columns, const std::filesystem::path& file,
                           const std::string& hint = "");

}  // namespace ddp::tables
