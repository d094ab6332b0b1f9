#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <arrow/table.h>

#include "errors.h"
#include "format/table.h"
#include "scratch_folder.h"

namespace ddp {

// A folder that is removed after the test, with tables in it.
struct TableFolder : ScratchFolder {
  // Each returns the file's path.
  std::filesystem::path write_gzip(const std::string& name, const std::string& content) const;
  std::filesystem::path write_parquet(const std::string& name, const arrow::Table& table,
                                      std::int64_t group = 1 << 20) const;
  std::filesystem::path write_feather(const std::string& name, const arrow::Table& table) const;
};

using Rows = std::vector<std::vector<std::string>>;

// All rows of some columns as text: numbers in their shortest form, missing cells as "?".
Rows rows_of(format::TableFile& table, const std::vector<format::WantedColumn>& wanted);
Rows rows_of(const std::filesystem::path& file, const format::TableOptions& options,
             const std::vector<format::WantedColumn>& wanted);

// Functions that read a CSV given as text.

inline const std::vector<format::WantedColumn> kAB{{"a"}, {"b"}};
inline const std::vector<format::WantedColumn> kText{{"a", format::CellType::text}};

// The error of reading these columns from a CSV with this content.
inline std::string csv_error(const std::string& content, const std::vector<format::WantedColumn>& wanted = kAB) {
  const TableFolder folder;
  const auto file = folder.write("t.csv", content);
  return error_of([&] { rows_of(file, {}, wanted); });
}

inline Rows csv_rows(const std::string& content, const std::vector<format::WantedColumn>& wanted = kAB,
                     const format::TableOptions& options = {}) {
  const TableFolder folder;
  return rows_of(folder.write("t.csv", content), options, wanted);
}

}  // namespace ddp
