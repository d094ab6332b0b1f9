#include "tables/batches.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/compute/cast.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include "base/error.h"
#include "tables/cell.h"
#include "tables/mistakes.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

using Array = std::shared_ptr<arrow::Array>;

constexpr double kWholeNumbers = 9007199254740992.0;  // 2^53: all integers up to it are doubles

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

// Converts the cells to a type without checks for overflow or lost digits.
arrow::Result<Array> cast(const Array& array, const std::shared_ptr<arrow::DataType>& type) {
  return arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Unsafe());
}

// Returns the array with the rows also missing for which `is_missing(row)` is true. Copies nothing if no row is.
template <class IsMissing>
arrow::Result<Array> without(const Array& array, const IsMissing& is_missing) {
  const std::int64_t rows = array->length();
  std::shared_ptr<arrow::Buffer> valid;
  std::int64_t missing = array->null_count();
  for (std::int64_t row = 0; row < rows; ++row) {
    if (array->IsNull(row) || !is_missing(row)) continue;
    if (valid == nullptr) {
      // With the array's offset, as for its values.
      ARROW_ASSIGN_OR_RAISE(valid, arrow::AllocateBitmap(array->offset() + rows));
      for (std::int64_t r = 0; r < rows; ++r) {
        arrow::bit_util::SetBitTo(valid->mutable_data(), array->offset() + r, array->IsValid(r));
      }
    }
    arrow::bit_util::ClearBit(valid->mutable_data(), array->offset() + row);
    ++missing;
  }
  if (valid == nullptr) return array;
  std::shared_ptr<arrow::ArrayData> data = array->data()->Copy();
  data->buffers[0] = std::move(valid);
  data->null_count = missing;
  return arrow::MakeArray(std::move(data));
}

// Throws ddp::Error (usage) if a cell is not UTF-8, such as a picture in a column of binary cells.
void require_utf8(const arrow::StringArray& text, const format::WantedColumn& column, std::int64_t first_row,
                  const Mistakes& mistakes) {
  for (std::int64_t row = 0; row < text.length(); ++row) {
    if (text.IsNull(row) || is_utf8(text.GetView(row))) continue;
    throw usage_error("column " + shown(column.name) + ": " + shown(text.GetView(row)) + " is not text in UTF-8",
                      mistakes.place_of(first_row + row + 1), "leave the column out with dataset.drop");
  }
}

arrow::Result<Array> parse_text(const Array& array, const format::WantedColumn& column, std::int64_t first_row,
                                Mistakes& mistakes) {
  const auto& text = static_cast<const arrow::StringArray&>(*array);
  arrow::DoubleBuilder numbers;
  ARROW_RETURN_NOT_OK(numbers.Reserve(text.length()));
  for (std::int64_t row = 0; row < text.length(); ++row) {
    const auto number = text.IsNull(row) ? std::nullopt : parse_number(text.GetView(row));
    if (number) {
      numbers.UnsafeAppend(*number);
      continue;
    }
    if (!text.IsNull(row)) mistakes.add_text(first_row + row + 1, column, text.GetView(row));
    numbers.UnsafeAppendNull();
  }
  return numbers.Finish();
}

arrow::Result<Array> to_numbers(const Array& array, const format::WantedColumn& column, std::int64_t first_row,
                                Mistakes& mistakes) {
  if (array->type_id() == arrow::Type::STRING) return parse_text(array, column, first_row, mistakes);
  ARROW_ASSIGN_OR_RAISE(const Array numbers, cast(array, arrow::float64()));
  const double* values = static_cast<const arrow::DoubleArray&>(*numbers).raw_values();
  // Most columns have no NaN, and a loop without branches is the fastest way to find out.
  std::int64_t nans = 0;
  for (std::int64_t row = 0; row < numbers->length(); ++row) nans += values[row] != values[row];
  if (nans == 0) return numbers;
  return without(numbers, [&](std::int64_t row) { return std::isnan(values[row]); });
}

// Writes the shortest text that gives the same double; for an integer its digits.
std::string_view write_number(double value, char (&text)[32]) {
  const bool is_whole = std::fabs(value) < kWholeNumbers && std::trunc(value) == value;
  const auto end = is_whole ? std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value))
                            : std::to_chars(text, text + sizeof text, value);
  return {text, static_cast<std::size_t>(end.ptr - text)};
}

arrow::Result<Array> write_numbers(const Array& array) {
  const auto& numbers = static_cast<const arrow::DoubleArray&>(*array);
  arrow::StringBuilder texts;
  char text[32];
  for (std::int64_t row = 0; row < numbers.length(); ++row) {
    ARROW_RETURN_NOT_OK(numbers.IsNull(row) ? texts.AppendNull()
                                            : texts.Append(write_number(numbers.Value(row), text)));
  }
  return texts.Finish();
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
  const auto& decimals = static_cast<const arrow::StringArray&>(*array);
  arrow::StringBuilder texts;
  char text[32];
  for (std::int64_t row = 0; row < decimals.length(); ++row) {
    if (decimals.IsNull(row)) {
      ARROW_RETURN_NOT_OK(texts.AppendNull());
      continue;
    }
    const std::string_view decimal = decimals.GetView(row);
    const std::string_view digits = whole_digits(decimal);
    const double number = digits.empty() ? parse_number(decimal).value_or(NAN) : 0;
    ARROW_RETURN_NOT_OK(texts.Append(digits.empty() ? write_number(number, text) : digits));
  }
  return texts.Finish();
}

arrow::Result<Array> to_text(const Array& array, const format::WantedColumn& column, std::int64_t first_row,
                             Mistakes& mistakes) {
  if (array->type_id() == arrow::Type::STRING) {
    require_utf8(static_cast<const arrow::StringArray&>(*array), column, first_row, mistakes);
    return array;
  }
  // Keeps all digits of an integer, even if no double equals it.
  if (arrow::is_integer(array->type_id())) return cast(array, arrow::utf8());
  if (cell_type(*array->type()) == format::CellType::text) return cast(array, arrow::utf8());
  ARROW_ASSIGN_OR_RAISE(const Array numbers, to_numbers(array, column, first_row, mistakes));
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

constexpr std::int64_t kChunkRows = 1 << 16;

class BatchTable : public format::TableFile {
 public:
  BatchTable(const std::filesystem::path& file, std::unique_ptr<BatchSource> source)
      : file_(file), source_(std::move(source)) {
    for (const auto& field : source_->schema()->fields()) {
      columns_.push_back({.name = field->name(), .type = cell_type(*field->type())});
    }
    if (columns_.empty()) throw usage_error("has no columns", file.string());
    require_distinct(columns_, file);
  }

  const std::vector<format::ColumnInfo>& columns() const override { return columns_; }

  void read(const std::vector<format::WantedColumn>& wanted) override {
    std::vector<int> places = places_of(wanted, columns_, file_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      require_readable(wanted[i], *source_->schema()->field(places[i])->type(), file_);
    }
    wanted_ = wanted;
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    batch_ = nullptr;
    begin_ = rows_before_ = 0;
    const arrow::Status status = source_->begin(wanted, places);
    if (!status.ok()) throw source_->explain(refusal(status, file_));
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
      if (cells == nullptr) throw usage_error("is damaged: it lacks column " + shown(column.name), file_.string());
      arrays.push_back(require(convert(cells, column, rows_before_, mistakes), file_));
      fields.push_back(arrow::field(column.name, arrays.back()->type()));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), piece.num_rows(), std::move(arrays));
  }

  const std::filesystem::path file_;
  const std::unique_ptr<BatchSource> source_;
  std::vector<format::ColumnInfo> columns_;
  std::vector<format::WantedColumn> wanted_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::int64_t begin_ = 0;        // first row of batch_ that is not yet taken
  std::int64_t rows_before_ = 0;  // rows of the file before the current piece
};

}  // namespace

std::shared_ptr<arrow::DataType> arrow_type(format::CellType type) {
  return type == format::CellType::number ? arrow::float64() : arrow::utf8();
}

format::CellType cell_type(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) {
    return cell_type(*static_cast<const arrow::DictionaryType&>(type).value_type());
  }
  const bool is_number = arrow::is_integer(type.id()) || arrow::is_floating(type.id()) ||
                         arrow::is_decimal(type.id()) || type.id() == arrow::Type::BOOL;
  return is_number ? format::CellType::number : format::CellType::text;
}

void require_readable(const format::WantedColumn& column, const arrow::DataType& type,
                      const std::filesystem::path& file) {
  const arrow::DataType& cells =
      type.id() == arrow::Type::DICTIONARY ? *static_cast<const arrow::DictionaryType&>(type).value_type() : type;
  const arrow::Type::type id = cells.id();
  const bool is_number = cell_type(cells) == format::CellType::number;
  const bool has_text = is_text(id) || id == arrow::Type::NA;
  const bool is_time = arrow::is_temporal(id) && !arrow::is_interval(id) && id != arrow::Type::DURATION;
  if (is_number || has_text || (is_time && column.type == format::CellType::text)) return;
  throw usage_error("column " + shown(column.name) + " contains cells of type " + shortened(type.ToString()) +
                        ", which are " + (is_time ? "no numbers" : "neither numbers nor text"),
                    file.string(), "leave it out with dataset.drop");
}

arrow::Result<std::shared_ptr<arrow::Array>> convert(Array array, const format::WantedColumn& column,
                                                     std::int64_t first_row, Mistakes& mistakes) {
  if (array->type_id() == arrow::Type::NA) {
    return arrow::MakeArrayOfNull(arrow_type(column.type), array->length());
  }
  const bool is_decimal = arrow::is_decimal(array->type_id());
  ARROW_ASSIGN_OR_RAISE(array, plain(std::move(array)));
  if (column.type == format::CellType::number) return to_numbers(array, column, first_row, mistakes);
  if (is_decimal) return write_decimals(array);
  return to_text(array, column, first_row, mistakes);
}

format::TableChunk as_chunk(std::shared_ptr<arrow::RecordBatch> batch) {
  format::TableChunk chunk;
  chunk.rows = batch->num_rows();
  for (const auto& column : batch->columns()) chunk.columns.push_back(cells_of(*column));
  chunk.memory = std::move(batch);
  return chunk;
}

std::unique_ptr<format::TableFile> table_of(const std::filesystem::path& file, std::unique_ptr<BatchSource> source) {
  return std::make_unique<BatchTable>(file, std::move(source));
}

}  // namespace ddp::tables
