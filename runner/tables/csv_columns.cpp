#include "tables/csv_columns.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include <arrow/csv/parser.h>
#include <arrow/status.h>
#include <arrow/type.h>

#include "tables/convert.h"
#include "tables/csv_rows.h"
#include "tables/growing_column.h"
#include "tables/text_encoding.h"

namespace ddp::tables {
namespace {

// Calls `take` with each cell of a column and whether it is quoted.
template <class Take>
arrow::Status each_cell(const arrow::csv::BlockParser& parser, int place, const Take& take) {
  return parser.VisitColumn(place, [&](const std::uint8_t* data, std::uint32_t size, bool is_quoted, bool) {
    return take(std::string_view(reinterpret_cast<const char*>(data), size), is_quoted);
  });
}

arrow::Result<std::shared_ptr<arrow::Array>> take_numbers(const arrow::csv::BlockParser& parser, const CsvPlace& from) {
  NumberColumn numbers;
  ARROW_RETURN_NOT_OK(numbers.reserve(parser.num_rows()));
  ARROW_RETURN_NOT_OK(each_cell(parser, from.place, [&](std::string_view cell, bool is_quoted) {
    return numbers.add(cell, is_quoted, from.missing);
  }));
  return numbers.finish(parser.num_rows());
}

arrow::Result<std::shared_ptr<arrow::Array>> take_texts(const arrow::csv::BlockParser& parser, const CsvPlace& from) {
  TextColumn texts;
  ARROW_RETURN_NOT_OK(each_cell(parser, from.place, [&](std::string_view cell, bool is_quoted) {
    return is_utf8(cell) ? texts.add(cell, is_quoted, from.missing) : arrow::Status::Invalid("a cell is not UTF-8");
  }));
  return texts.finish();
}

}  // namespace

CsvColumns::CsvColumns(const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places, int width,
                       const format::TableOptions& options)
    : width_(width), dialect_(csv_dialect(options.delimiter)) {
  arrow::FieldVector fields;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    fields.push_back(arrow::field(wanted[i].name, arrow_type(wanted[i].type)));
    places_.push_back(
        {.place = places[i], .type = wanted[i].type, .missing = MissingCells(options.missing_values, wanted[i])});
  }
  schema_ = arrow::schema(std::move(fields));
  in_order_ = places_;
  std::sort(in_order_.begin(), in_order_.end(), [](const auto& a, const auto& b) { return a.place < b.place; });
  for (const CsvPlace& one : places_) {
    const auto same = [&](const CsvPlace& other) { return other.place == one.place; };
    numbers_in_order_.push_back(
        static_cast<std::size_t>(std::find_if(in_order_.begin(), in_order_.end(), same) - in_order_.begin()));
    if (std::count_if(in_order_.begin(), in_order_.end(), same) > 1) wanted_twice_ = true;
  }
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> CsvColumns::take(const CsvBlock& block) const {
  std::int64_t rows = 0;
  const std::string_view bytes(*block.bytes);
  ARROW_ASSIGN_OR_RAISE(arrow::ArrayVector arrays, !wanted_twice_ && are_plain(bytes, dialect_.delimiter, places_)
                                                       ? take_plain(bytes, rows)
                                                       : take_any(block, rows));
  return arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
}

arrow::Result<arrow::ArrayVector> CsvColumns::take_plain(std::string_view rows, std::int64_t& number_of_rows) const {
  ARROW_ASSIGN_OR_RAISE(const arrow::ArrayVector columns,
                        take_plain_cells(rows, dialect_.delimiter, width_, in_order_, number_of_rows));
  arrow::ArrayVector arrays;
  for (const std::size_t number : numbers_in_order_) arrays.push_back(columns[number]);
  return arrays;
}

arrow::Result<arrow::ArrayVector> CsvColumns::take_any(const CsvBlock& block, std::int64_t& number_of_rows) const {
  arrow::csv::BlockParser parser(dialect_, width_, /*first_row=*/-1, std::numeric_limits<std::int32_t>::max());
  const std::string_view bytes(*block.bytes);
  std::uint32_t parsed = 0;
  ARROW_RETURN_NOT_OK(block.last ? parser.ParseFinal(bytes, &parsed) : parser.Parse(bytes, &parsed));
  if (parsed != bytes.size()) return arrow::Status::Invalid("a row does not end where a line ends");
  arrow::ArrayVector arrays;
  for (const CsvPlace& from : places_) {
    ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), from.type == format::CellType::number ? take_numbers(parser, from)
                                                                                       : take_texts(parser, from));
  }
  number_of_rows = parser.num_rows();
  return arrays;
}

}  // namespace ddp::tables
