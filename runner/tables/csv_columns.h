#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/csv/converter.h>
#include <arrow/csv/options.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "format/table.h"
#include "tables/csv_blocks.h"
#include "tables/csv_cells.h"

namespace ddp::tables {

// Takes the wanted columns out of blocks of a CSV. Several threads may do so at once.
class CsvColumns {
 public:
  // `places`: of the wanted columns in a row of `width` cells. Throws ddp::Error (usage) where Arrow lacks memory.
  CsvColumns(const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places, int width,
             char delimiter);

  // Columns of doubles and of text. Fails where a row has not `width` cells, or a cell is not of its column's type.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> take(const CsvBlock& block) const;

 private:
  arrow::Result<arrow::ArrayVector> take_plain(std::string_view rows, std::int64_t& number_of_rows) const;
  arrow::Result<arrow::ArrayVector> take_any(const CsvBlock& block, std::int64_t& number_of_rows) const;

  const int width_;
  const arrow::csv::ParseOptions dialect_;
  const arrow::csv::ConvertOptions converting_;
  std::vector<std::shared_ptr<arrow::csv::Converter>> texts_;  // of each wanted column; null: numbers
  std::vector<CsvPlace> places_;                               // of each wanted column
  std::vector<CsvPlace> in_order_;                             // the same, sorted by place
  std::vector<std::size_t> numbers_in_order_;                  // where each wanted column stands there
  bool wanted_twice_ = false;                                  // one column, at two places of the result
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace ddp::tables
