#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <arrow/array.h>
#include <arrow/result.h>

#include "format/table.h"

namespace ddp::tables {

// A column of the file that is wanted.
struct CsvPlace {
  int place = 0;  // in a row
  format::CellType type = format::CellType::number;
};

// Can these whole rows be read by take_plain_cells? Their quotes are simple, and where text is wanted they are ASCII.
bool are_plain(std::string_view rows, char delimiter, const std::vector<CsvPlace>& wanted);

// Columns of such rows in one pass: numbers are read where they stand, without a list of cells. `rows`: whole rows of
// `width` cells; the last one may lack its line break. `wanted`: sorted by place. `number_of_rows` is set. Fails where
// a row has not `width` cells, or a cell is no number.
arrow::Result<arrow::ArrayVector> take_plain_cells(std::string_view rows, char delimiter, int width,
                                                   const std::vector<CsvPlace>& wanted, std::int64_t& number_of_rows);

}  // namespace ddp::tables
