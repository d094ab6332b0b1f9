#include "tables/csv_columns.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/csv/parser.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "format/table.h"
#include "tables/batches.h"
#include "tables/cell.h"
#include "tables/csv_rows.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

// A bitmap of valid cells: all of these rows.
arrow::Result<std::shared_ptr<arrow::Buffer>> all_valid(std::int64_t rows) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> valid, arrow::AllocateBitmap(rows));
  std::memset(valid->mutable_data(), 0xff, static_cast<std::size_t>(valid->size()));
  return valid;
}

// A column of doubles that grows row by row, up to a known number of rows.
class NumberColumn {
 public:
  arrow::Status reserve(std::int64_t rows) {
    most_ = rows;
    ARROW_ASSIGN_OR_RAISE(values_, arrow::AllocateBuffer(rows * static_cast<std::int64_t>(sizeof(double))));
    next_ = reinterpret_cast<double*>(values_->mutable_data());
    return arrow::Status::OK();
  }
  void add(double number) { *next_++ = number; }
  // Fails if the cell is not a number.
  arrow::Status add(std::string_view cell, bool is_quoted, const MissingCells& missing) {
    const std::optional<double> number = parse_number(cell);
    if (number ? missing.holds(*number) : missing.holds(cell, is_quoted)) return add_missing();
    if (!number) return arrow::Status::Invalid("a cell is not a number");
    add(*number);
    return arrow::Status::OK();
  }
  std::shared_ptr<arrow::Array> finish(std::int64_t rows) {
    return std::make_shared<arrow::DoubleArray>(rows, std::move(values_), std::move(valid_), missing_);
  }

 private:
  arrow::Status add_missing() {
    // The bitmap of valid cells is allocated at the first missing cell.
    if (valid_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(valid_, all_valid(most_));
    }
    arrow::bit_util::ClearBit(valid_->mutable_data(), next_ - reinterpret_cast<double*>(values_->mutable_data()));
    *next_++ = 0;
    ++missing_;
    return arrow::Status::OK();
  }

  std::int64_t most_ = 0;
  std::shared_ptr<arrow::Buffer> values_;
  std::shared_ptr<arrow::Buffer> valid_;
  double* next_ = nullptr;
  std::int64_t missing_ = 0;
};

// A column of text that grows row by row. A missing cell keeps its text.
class TextColumn {
 public:
  arrow::Status add(std::string_view cell, bool is_quoted, const MissingCells& missing) {
    if (missing.holds(cell, is_quoted)) missing_.push_back(texts_.length());
    return texts_.Append(cell);
  }
  arrow::Result<std::shared_ptr<arrow::Array>> finish() {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> texts, texts_.Finish());
    if (missing_.empty()) return texts;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> valid, all_valid(texts->length()));
    for (const std::int64_t row : missing_) arrow::bit_util::ClearBit(valid->mutable_data(), row);
    const std::shared_ptr<arrow::ArrayData> data = texts->data()->Copy();
    data->buffers[0] = std::move(valid);
    data->null_count = std::ssize(missing_);
    return arrow::MakeArray(data);
  }

 private:
  arrow::StringBuilder texts_;
  std::vector<std::int64_t> missing_;  // rows
};

bool ends_row(char byte) { return byte == '\n' || byte == '\r'; }

class PlainCells {
 public:
  PlainCells(std::string_view rows, char delimiter, int width, const std::vector<CsvPlace>& wanted)
      : at_(rows.data()), end_(rows.data() + rows.size()), delimiter_(delimiter), width_(width), wanted_(wanted) {
    // If the delimiter is one of these characters, numbers must not be read across it.
    quick_ = std::strchr("0123456789.-", delimiter) == nullptr;
  }

  arrow::Status take(std::int64_t& number_of_rows) {
    // A row has at least one byte per cell: empty lines reserve no memory.
    const std::int64_t lines = std::count(at_, end_, '\n') + std::count(at_, end_, '\r') + 1;
    const std::int64_t most = std::min<std::int64_t>(lines, (end_ - at_ + 1) / width_);
    numbers_.resize(wanted_.size());
    texts_.resize(wanted_.size());
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].type == format::CellType::number) ARROW_RETURN_NOT_OK(numbers_[i].reserve(most));
    }
    for (;; ++number_of_rows) {
      while (at_ < end_ && ends_row(*at_)) ++at_;  // empty lines are not rows
      if (at_ == end_) return arrow::Status::OK();
      ARROW_RETURN_NOT_OK(take_row());
    }
  }

  arrow::Result<arrow::ArrayVector> finish(std::int64_t rows) {
    arrow::ArrayVector arrays;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].type == format::CellType::number) {
        arrays.push_back(numbers_[i].finish(rows));
      } else {
        ARROW_ASSIGN_OR_RAISE(auto array, texts_[i].finish());
        arrays.push_back(std::move(array));
      }
    }
    return arrays;
  }

 private:
  arrow::Status take_row() {
    std::size_t next = 0;
    for (int place = 0; place < width_; ++place) {
      if (next < wanted_.size() && wanted_[next].place == place) {
        ARROW_RETURN_NOT_OK(take_cell(next));
        ++next;
      } else {
        skip_cell();
      }
      const bool last = place + 1 == width_;
      const bool row_ends = at_ == end_ || ends_row(*at_);
      if (last != row_ends) return arrow::Status::Invalid("a row has more or fewer cells than the first one");
      if (!last) ++at_;
    }
    return arrow::Status::OK();
  }

  arrow::Status take_cell(std::size_t i) {
    const bool is_number = wanted_[i].type == format::CellType::number;
    const MissingCells& missing = wanted_[i].missing;
    if (is_number && quick_ && !missing.holds_numbers()) {
      double number = 0;
      const char* const after = read_plain_number(at_, end_, number);
      if (after != nullptr && (after == end_ || *after == delimiter_ || ends_row(*after))) {
        at_ = after;
        numbers_[i].add(number);
        return arrow::Status::OK();
      }
    }
    const bool is_quoted = at_ < end_ && *at_ == '"';
    const std::string_view cell = skip_cell();
    return is_number ? numbers_[i].add(cell, is_quoted, missing) : texts_[i].add(cell, is_quoted, missing);
  }

  // Returns the cell without its quotes.
  std::string_view skip_cell() {
    if (at_ < end_ && *at_ == '"') return skip_quoted();
    const char* const begin = at_;
    while (at_ < end_ && *at_ != delimiter_ && !ends_row(*at_)) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  std::string_view skip_quoted() {
    const char* const begin = ++at_;
    while (*at_ != '"') ++at_;
    return {begin, static_cast<std::size_t>(at_++ - begin)};
  }

  const char* at_;
  const char* const end_;
  const char delimiter_;
  const int width_;
  const std::vector<CsvPlace>& wanted_;
  bool quick_ = false;
  std::vector<NumberColumn> numbers_;  // empty for text columns
  std::vector<TextColumn> texts_;      // empty for number columns
};

// Can take_plain_cells read these whole rows? It requires simple quotes, and ASCII in wanted text columns.
bool are_plain(std::string_view rows, char delimiter, const std::vector<CsvPlace>& wanted) {
  if (!has_simple_quotes(rows, delimiter)) return false;
  const bool text =
      std::any_of(wanted.begin(), wanted.end(), [](const CsvPlace& one) { return one.type == format::CellType::text; });
  if (!text) return true;
  unsigned char all = 0;
  for (const char byte : rows) all |= static_cast<unsigned char>(byte);
  return all < 0x80;
}

// Reads columns of such rows in one pass: numbers are parsed in place, without a list of cells. `rows` are whole rows
// of `width` cells; the last one may lack its line break. `wanted` is sorted by place. Sets `number_of_rows`. Fails if
// a row does not have `width` cells, or if a cell is not a number.
arrow::Result<arrow::ArrayVector> take_plain_cells(std::string_view rows, char delimiter, int width,
                                                   const std::vector<CsvPlace>& wanted, std::int64_t& number_of_rows) {
  number_of_rows = 0;
  PlainCells cells(rows, delimiter, width, wanted);
  ARROW_RETURN_NOT_OK(cells.take(number_of_rows));
  return cells.finish(number_of_rows);
}

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
