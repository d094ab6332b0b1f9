#include "tables/csv_cells.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <arrow/status.h>

#include "tables/csv_quotes.h"
#include "tables/growing_column.h"

namespace ddp::tables {
namespace {

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

}  // namespace

bool are_plain(std::string_view rows, char delimiter, const std::vector<CsvPlace>& wanted) {
  if (!has_simple_quotes(rows, delimiter)) return false;
  const bool text =
      std::any_of(wanted.begin(), wanted.end(), [](const CsvPlace& one) { return one.type == format::CellType::text; });
  if (!text) return true;
  unsigned char all = 0;
  for (const char byte : rows) all |= static_cast<unsigned char>(byte);
  return all < 0x80;
}

arrow::Result<arrow::ArrayVector> take_plain_cells(std::string_view rows, char delimiter, int width,
                                                   const std::vector<CsvPlace>& wanted, std::int64_t& number_of_rows) {
  number_of_rows = 0;
  PlainCells cells(rows, delimiter, width, wanted);
  ARROW_RETURN_NOT_OK(cells.take(number_of_rows));
  return cells.finish(number_of_rows);
}

}  // namespace ddp::tables
