#pragma once

#include <string>
#include <vector>

#include "errors.h"
#include "format/table.h"
#include "tables/files.h"

// Functions that read a CSV given as text.
namespace ddp {

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
