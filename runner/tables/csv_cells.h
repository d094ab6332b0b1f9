#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <arrow/array.h>
#include <arrow/result.h>

#include "format/table.h"
#include "tables/cell.h"

namespace ddp::tables {

// A wanted column of the file.
struct CsvPlace {
  int place = 0;  // index in a row
  format::CellType type = format::CellType::number;
  MissingCells missing;
};

// Can take_plain_cells read these whole rows? It requires simple quotes, and ASCII in wanted text columns.
bool are_plain(std::string_view rows, char delimiter, const std::vector<CsvPlace>& wanted);

// Reads columns of such rows in one pass: numbers are parsed in place, without a list of cells. `rows` are whole rows
// of `width` cells; the last one may lack its line break. `wanted` is sorted by place. Sets `number_of_rows`. Fails if
// a row does not have `width` cells, or if a cell is not a number.
arrow::Result<arrow::ArrayVector> take_plain_cells(std::string_view rows, char delimiter, int width,
                                                   const std::vector<CsvPlace>& wanted, std::int64_t& number_of_rows);

}  // namespace ddp::tables
