#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/csv/options.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "format/table.h"
#include "tables/cell.h"
#include "tables/csv_rows.h"

namespace ddp::tables {

// A wanted column of the file.
struct CsvPlace {
  int place = 0;  // index in a row
  format::CellType type = format::CellType::number;
  MissingCells missing;
};

// Extracts the wanted columns from blocks of a CSV file. Thread-safe.
class CsvColumns {
 public:
  // `places` are the indices of the wanted columns in a row of `width` cells.
  CsvColumns(const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places, int width,
             const format::TableOptions& options);

  // Returns columns of doubles and of text. Fails if a row does not have `width` cells, or if a cell does not have its
  // column's type.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> take(const CsvBlock& block) const;

 private:
  arrow::Result<arrow::ArrayVector> take_plain(std::string_view rows, std::int64_t& number_of_rows) const;
  arrow::Result<arrow::ArrayVector> take_any(const CsvBlock& block, std::int64_t& number_of_rows) const;

  const int width_;
  const arrow::csv::ParseOptions dialect_;
  std::vector<CsvPlace> places_;               // one per wanted column
  std::vector<CsvPlace> in_order_;             // the same, sorted by place
  std::vector<std::size_t> numbers_in_order_;  // index of each wanted column in in_order_
  bool wanted_twice_ = false;                  // a column occurs twice in the result
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace ddp::tables
