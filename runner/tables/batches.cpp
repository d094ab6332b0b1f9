#include "tables/batches.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/compute/cast.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include "base/error.h"
#include "config/text/source.h"
#include "tables/cell.h"
#include "tables/mistakes.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

using Array = std::shared_ptr<arrow::Array>;

format::ColumnCells cells_of(const arrow::Array& array) {
  format::ColumnCells cells;
  if (array.type_id() == arrow::Type::DOUBLE) {
    cells.numbers = static_cast<const arrow::DoubleArray&>(array).raw_values();
  } else {
    const auto& text = static_cast<const arrow::StringArray&>(array);
    cells.offsets = text.raw_value_offsets();
    cells.text = reinterpret_cast<const char*>(text.raw_data());
  }
  if (array.null_count() > 0) {
    cells.valid = array.null_bitmap_data();
    cells.first_bit = array.offset();
  }
  return cells;
}

bool is_text(arrow::Type::type id) {
  return arrow::is_base_binary_like(id) || id == arrow::Type::STRING_VIEW || id == arrow::Type::BINARY_VIEW;
}

const arrow::DataType& type_of_cells(const arrow::DataType& type) {
  return type.id() == arrow::Type::DICTIONARY ? *static_cast<const arrow::DictionaryType&>(type).value_type() : type;
}

// Returns the type of a file's column: numbers for integers, floats, decimals and booleans.
format::CellType cell_type(const arrow::DataType& type) {
  const arrow::Type::type id = type_of_cells(type).id();
  const bool is_number =
      arrow::is_integer(id) || arrow::is_floating(id) || arrow::is_decimal(id) || id == arrow::Type::BOOL;
  return is_number ? format::CellType::number : format::CellType::text;
}

// Converts the cells to a type without checks for overflow or lost digits.
arrow::Result<Array> cast(const Array& array, const std::shared_ptr<arrow::DataType>& type) {
  return arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Unsafe());
}

// Throws ddp::Error (usage) if a cell is not UTF-8, such as a picture in a column of binary cells.
void require_utf8(const arrow::StringArray& text, const format::WantedColumn& column, std::int64_t first_row,
                  const Mistakes& mistakes) {
  for (std::int64_t row = 0; row < text.length(); ++row) {
    if (text.IsNull(row) || is_utf8(text.GetView(row))) continue;
    throw usage_error("column " + config::in_quotes(column.name) + ": " + config::in_quotes(text.GetView(row)) +
                          " is not text in UTF-8",
                      mistakes.place_of(first_row + row), "leave the column out with dataset.drop");
  }
}

arrow::Result<Array> parse_text(const Array& array, const format::WantedColumn& column, const format::TableOptions& how,
                                std::int64_t first_row, Mistakes& mistakes) {
  const auto& text = static_cast<const arrow::StringArray&>(*array);
  arrow::DoubleBuilder numbers;
  ARROW_RETURN_NOT_OK(numbers.Reserve(text.length()));
  for (std::int64_t row = 0; row < text.length(); ++row) {
    const auto number = text.IsNull(row) ? std::nullopt : number_in(text.GetView(row), column.type, how);
    if (number) {
      numbers.UnsafeAppend(*number);
      continue;
    }
    if (!text.IsNull(row)) mistakes.add_text(first_row + row, column, text.GetView(row), how.date_format);
    numbers.UnsafeAppendNull();
  }
  return numbers.Finish();
}

// Returns the days since 1970-01-01 of dates and timestamps.
arrow::Result<Array> to_days(const Array& array) {
  std::int64_t in_a_day = 1;  // units
  if (array->type_id() == arrow::Type::DATE64) in_a_day = 86'400'000;
  if (array->type_id() == arrow::Type::TIMESTAMP) {
    const auto unit = static_cast<const arrow::TimestampType&>(*array->type()).unit();
    in_a_day = 86'400;
    for (auto finer = arrow::TimeUnit::SECOND; finer != unit; finer = arrow::TimeUnit::type(finer + 1))
      in_a_day *= 1000;
  }
  ARROW_ASSIGN_OR_RAISE(const Array units, array->type_id() == arrow::Type::DATE32
                                               ? arrow::Result<Array>(array->View(arrow::int32()))
                                               : array->View(arrow::int64()));
  arrow::DoubleBuilder days;
  ARROW_RETURN_NOT_OK(days.Reserve(units->length()));
  ARROW_ASSIGN_OR_RAISE(const Array wide, cast(units, arrow::int64()));
  const auto& counts = static_cast<const arrow::Int64Array&>(*wide);
  for (std::int64_t row = 0; row < counts.length(); ++row) {
    if (counts.IsNull(row)) {
      days.UnsafeAppendNull();
    } else {
      days.UnsafeAppend(static_cast<double>(counts.Value(row)) / static_cast<double>(in_a_day));
    }
  }
  return days.Finish();
}

bool is_moment(arrow::Type::type id) {
  return id == arrow::Type::DATE32 || id == arrow::Type::DATE64 || id == arrow::Type::TIMESTAMP;
}

arrow::Result<Array> to_numbers(const Array& array, const format::WantedColumn& column, const format::TableOptions& how,
                                std::int64_t first_row, Mistakes& mistakes) {
  if (array->type_id() == arrow::Type::STRING) return parse_text(array, column, how, first_row, mistakes);
  if (is_moment(array->type_id())) return to_days(array);
  ARROW_ASSIGN_OR_RAISE(const Array numbers, cast(array, arrow::float64()));
  const double* values = static_cast<const arrow::DoubleArray&>(*numbers).raw_values();
  // Most columns have no NaN, and a loop without branches is the fastest way to find out.
  std::int64_t nans = 0;
  for (std::int64_t row = 0; row < numbers->length(); ++row) nans += values[row] != values[row];
  std::vector<std::int64_t> missing;
  for (std::int64_t row = 0; nans > 0 && row < numbers->length(); ++row) {
    if (std::isnan(values[row])) missing.push_back(row);
  }
  return without_rows(numbers, missing);
}

// Writes the shortest text that gives the same double; for an integer its digits.
std::string_view write_number(double value, char (&text)[32]) {
  const bool is_whole = std::fabs(value) < kWholeNumbers && std::trunc(value) == value;
  const auto end = is_whole ? std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value))
                            : std::to_chars(text, text + sizeof text, value);
  return {text, static_cast<std::size_t>(end.ptr - text)};
}

// Returns what `write` makes of each cell that is not null.
template <class Cells, class Write>
arrow::Result<Array> as_texts(const Cells& cells, const Write& write) {
  arrow::StringBuilder texts;
  for (std::int64_t row = 0; row < cells.length(); ++row) {
    ARROW_RETURN_NOT_OK(cells.IsNull(row) ? texts.AppendNull() : texts.Append(write(cells.GetView(row))));
  }
  return texts.Finish();
}

arrow::Result<Array> write_numbers(const Array& array) {
  char text[32];
  return as_texts(static_cast<const arrow::DoubleArray&>(*array),
                  [&](double number) { return write_number(number, text); });
}

// Returns "12" for "12.00"; "" for a decimal that is not an integer, or that has an exponent.
std::string_view whole_digits(std::string_view decimal) {
  const std::size_t point = std::min(decimal.find('.'), decimal.size());
  const bool is_whole =
      decimal.find_first_not_of(".0", point) == std::string_view::npos && decimal.find('E') == std::string_view::npos;
  return is_whole ? decimal.substr(0, point) : std::string_view();
}

// Like write_numbers, for decimals as text: keeps all digits of an integer, even if no double equals it.
arrow::Result<Array> write_decimals(const Array& array) {
  char text[32];
  return as_texts(static_cast<const arrow::StringArray&>(*array), [&](std::string_view decimal) {
    const std::string_view digits = whole_digits(decimal);
    return digits.empty() ? write_number(parse_number(decimal).value_or(NAN), text) : digits;
  });
}

arrow::Result<Array> to_text(const Array& array, const format::WantedColumn& column, std::int64_t first_row,
                             Mistakes& mistakes) {
  if (array->type_id() == arrow::Type::STRING) {
    require_utf8(static_cast<const arrow::StringArray&>(*array), column, first_row, mistakes);
    return array;
  }
  // Keeps all digits of an integer, even if no double equals it.
  if (arrow::is_integer(array->type_id()) || cell_type(*array->type()) == format::CellType::text) {
    return cast(array, arrow::utf8());
  }
  ARROW_ASSIGN_OR_RAISE(const Array numbers, to_numbers(array, column, {}, first_row, mistakes));
  return write_numbers(numbers);
}

// Converts columns to plain types: dictionaries to values, decimals to text (Arrow's cast to doubles does not round to
// the nearest), and text with wide offsets or views to text.
arrow::Result<Array> plain(Array array) {
  if (array->type_id() == arrow::Type::DICTIONARY) {
    const auto& type = static_cast<const arrow::DictionaryType&>(*array->type());
    ARROW_ASSIGN_OR_RAISE(array, cast(array, type.value_type()));
  }
  if (array->type_id() == arrow::Type::STRING) return array;
  return arrow::is_decimal(array->type_id()) || is_text(array->type_id()) ? cast(array, arrow::utf8()) : array;
}

// Converts a column of some rows to doubles or text, as wanted; copies nothing if it already has this type. NaN becomes
// null. Adds cells that are not numbers to `mistakes`; `first_row` is the index of the first row in the file. Throws
// ddp::Error (usage) if a text is not UTF-8. Fails if Arrow fails.
arrow::Result<Array> convert(Array array, const format::WantedColumn& column, const format::TableOptions& how,
                             std::int64_t first_row, Mistakes& mistakes) {
  if (array->type_id() == arrow::Type::NA) {
    return arrow::MakeArrayOfNull(arrow_type(column.type), array->length());
  }
  const bool is_decimal = arrow::is_decimal(array->type_id());
  ARROW_ASSIGN_OR_RAISE(array, plain(std::move(array)));
  if (column.type == format::CellType::date && arrow::is_integer(array->type_id())) {  // such as 20261129
    ARROW_ASSIGN_OR_RAISE(array, cast(array, arrow::utf8()));
  }
  if (column.type != format::CellType::text) return to_numbers(array, column, how, first_row, mistakes);
  if (is_decimal) return write_decimals(array);
  return to_text(array, column, first_row, mistakes);
}

constexpr std::int64_t kChunkRows = 1 << 16;

// Throws ddp::Error (usage) if a column of this type, such as lists or structs, cannot be read.
void require_readable(const format::WantedColumn& column, const arrow::DataType& type,
                      const std::filesystem::path& file) {
  const arrow::Type::type id = type_of_cells(type).id();
  const bool has_text = is_text(id) || id == arrow::Type::NA;
  if (column.type == format::CellType::date) {
    if (has_text || is_moment(id) || arrow::is_integer(id)) return;
    throw usage_error("column " + config::in_quotes(column.name) + " contains cells of type " +
                          config::printable(type.name()) + ", which are no dates",
                      file.string(), "leave it out of dataset.dates");
  }
  const bool is_time = arrow::is_temporal(id) && !arrow::is_interval(id) && id != arrow::Type::DURATION;
  if (cell_type(type) == format::CellType::number || has_text) return;
  if (is_time && column.type == format::CellType::text) return;
  throw usage_error("column " + config::in_quotes(column.name) + " contains cells of type " +
                        config::printable(type.name()) + ", which are " +
                        (is_time ? "no numbers" : "neither numbers nor text"),
                    file.string(), "leave it out with dataset.drop");
}

class BatchTable : public format::TableFile {
 public:
  BatchTable(const std::filesystem::path& file, std::unique_ptr<BatchSource> source,
             const format::TableOptions& options)
      : file_(file), source_(std::move(source)), how_(options) {
    for (const auto& field : source_->schema()->fields()) {
      columns_.push_back({.name = field->name(), .type = cell_type(*field->type())});
    }
    if (columns_.empty()) throw usage_error("has no columns", file.string());
    require_distinct(columns_, file);
  }

  const std::vector<format::ColumnInfo>& columns() const override { return columns_; }

  std::vector<std::int64_t> blocks() override { return source_->blocks(); }

  void read(const std::vector<format::WantedColumn>& wanted, std::optional<std::int64_t> block) override {
    std::vector<int> places = places_of(wanted, columns_, file_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      require_readable(wanted[i], *source_->schema()->field(places[i])->type(), file_);
    }
    wanted_ = wanted;
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    batch_ = nullptr;
    begin_ = rows_before_ = 0;
    const arrow::Status status = source_->begin(wanted, places, block);
    if (!status.ok()) throw source_->explain(refusal(status, file_));
    if (!block) return;
    const std::vector<std::int64_t> rows = blocks();
    rows_before_ = std::accumulate(rows.begin(), rows.begin() + *block, std::int64_t{0});
  }

  bool next(format::TableChunk& chunk) override {
    Mistakes mistakes(file_, kOnlyNull, "row ");
    mistakes.count_rows(rows_before_);
    while (const std::shared_ptr<arrow::RecordBatch> piece = next_piece()) {
      std::shared_ptr<arrow::RecordBatch> converted = convert_piece(*piece, mistakes);
      rows_before_ += piece->num_rows();
      mistakes.count_rows(piece->num_rows());
      // After the first mistake the remaining rows are still checked, to report further mistakes.
      if (mistakes.full()) break;
      if (!mistakes.empty()) continue;
      chunk = as_chunk(std::move(converted));
      return true;
    }
    if (!mistakes.empty()) throw source_->explain(mistakes.error());
    return false;
  }

  std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const override {
    return source_->lines_of(rows);
  }

 private:
  // Returns some rows of the current batch or of the next one; null at the end.
  std::shared_ptr<arrow::RecordBatch> next_piece() {
    while (batch_ == nullptr || begin_ == batch_->num_rows()) {
      auto next = source_->next();
      if (next.status().IsIOError()) throw refusal(next.status(), file_);  // no row explains it
      if (!next.ok()) throw source_->explain(refusal(next.status(), file_));
      batch_ = *std::move(next);
      begin_ = 0;
      if (batch_ == nullptr) return nullptr;
    }
    const std::int64_t rows = std::min(kChunkRows, batch_->num_rows() - begin_);
    return batch_->Slice(std::exchange(begin_, begin_ + rows), rows);
  }

  std::shared_ptr<arrow::RecordBatch> convert_piece(const arrow::RecordBatch& piece, Mistakes& mistakes) const {
    arrow::ArrayVector arrays;
    arrow::FieldVector fields;
    for (const format::WantedColumn& column : wanted_) {
      const std::shared_ptr<arrow::Array> cells = piece.GetColumnByName(column.name);
      if (cells == nullptr)
        throw usage_error("is damaged: it lacks column " + config::in_quotes(column.name), file_.string());
      arrays.push_back(require(convert(cells, column, how_, rows_before_, mistakes), file_));
      fields.push_back(arrow::field(column.name, arrays.back()->type()));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), piece.num_rows(), std::move(arrays));
  }

  const std::filesystem::path file_;
  const std::unique_ptr<BatchSource> source_;
  const format::TableOptions how_;
  std::vector<format::ColumnInfo> columns_;
  std::vector<format::WantedColumn> wanted_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::int64_t begin_ = 0;        // first row of batch_ that is not yet taken
  std::int64_t rows_before_ = 0;  // rows of the file before the current piece
};

}  // namespace

std::shared_ptr<arrow::DataType> arrow_type(format::CellType type) {
  return type == format::CellType::text ? arrow::utf8() : arrow::float64();
}

arrow::Result<Array> without_rows(const Array& array, const std::vector<std::int64_t>& rows) {
  if (rows.empty()) return array;
  const std::int64_t offset = array->offset();  // the bitmap has it, as the values do
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> valid, arrow::AllocateBitmap(offset + array->length()));
  for (std::int64_t row = 0; row < array->length(); ++row) {
    arrow::bit_util::SetBitTo(valid->mutable_data(), offset + row, array->IsValid(row));
  }
  std::int64_t missing = array->null_count();
  for (const std::int64_t row : rows) {
    missing += array->IsValid(row);
    arrow::bit_util::ClearBit(valid->mutable_data(), offset + row);
  }
  const std::shared_ptr<arrow::ArrayData> data = array->data()->Copy();
  data->buffers[0] = std::move(valid);
  data->null_count = missing;
  return arrow::MakeArray(data);
}

format::TableChunk as_chunk(std::shared_ptr<arrow::RecordBatch> batch) {
  format::TableChunk chunk;
  chunk.rows = batch->num_rows();
  for (const auto& column : batch->columns()) chunk.columns.push_back(cells_of(*column));
  chunk.memory = std::move(batch);
  return chunk;
}

std::unique_ptr<format::TableFile> table_of(const std::filesystem::path& file, std::unique_ptr<BatchSource> source,
                                            const format::TableOptions& options) {
  return std::make_unique<BatchTable>(file, std::move(source), options);
}

}  // namespace ddp::tables
