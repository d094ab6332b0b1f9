#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/csv/parser.h>
#include <arrow/record_batch.h>
#include <arrow/util/future.h>
#include <arrow/util/thread_pool.h>

#include "base/error.h"
#include "config/text/source.h"
#include "tables/batches.h"
#include "tables/cell.h"
#include "tables/csv_rows.h"
#include "tables/formats.h"
#include "tables/mistakes.h"
#include "tables/source.h"
#include "tables/text_blocks.h"

namespace ddp::tables {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;
using Array = std::shared_ptr<arrow::Array>;

// A wanted column of the file.
struct CsvColumn {
  format::WantedColumn wanted;
  std::size_t place = 0;  // index in a row
  MissingCells missing;
  const format::TableOptions* how = nullptr;

  // Numbers and dates are doubles.
  bool is_number() const { return wanted.type != format::CellType::text; }
  std::optional<double> parsed(std::string_view cell) const { return number_in(cell, wanted.type, *how); }
};

// A column of doubles that grows row by row, up to a known number of rows.
class NumberColumn {
 public:
  arrow::Status reserve(std::int64_t rows) {
    ARROW_ASSIGN_OR_RAISE(values_, arrow::AllocateBuffer(rows * static_cast<std::int64_t>(sizeof(double))));
    next_ = reinterpret_cast<double*>(values_->mutable_data());
    return arrow::Status::OK();
  }
  void add(double number) { *next_++ = number; }
  // Fails if the cell is neither a number nor missing.
  arrow::Status add(std::string_view cell, bool is_quoted, const CsvColumn& column) {
    const std::optional<double> number = column.parsed(cell);
    if (number ? column.missing.holds(*number) : column.missing.holds(cell, is_quoted)) {
      missing_.push_back(next_ - reinterpret_cast<double*>(values_->mutable_data()));
      add(0);
    } else if (number) {
      add(*number);
    } else {
      return arrow::Status::Invalid("a cell is not a number");
    }
    return arrow::Status::OK();
  }
  arrow::Result<Array> finish(std::int64_t rows) {
    return without_rows(std::make_shared<arrow::DoubleArray>(rows, std::move(values_)), missing_);
  }

 private:
  std::shared_ptr<arrow::Buffer> values_;
  double* next_ = nullptr;
  std::vector<std::int64_t> missing_;  // rows
};

// A column of text that grows row by row. A missing cell keeps its text.
class TextColumn {
 public:
  arrow::Status add(std::string_view cell, bool is_quoted, const MissingCells& missing) {
    if (missing.holds(cell, is_quoted)) missing_.push_back(texts_.length());
    return texts_.Append(cell);
  }
  arrow::Result<Array> finish() {
    ARROW_ASSIGN_OR_RAISE(const Array texts, texts_.Finish());
    return without_rows(texts, missing_);
  }

 private:
  arrow::StringBuilder texts_;
  std::vector<std::int64_t> missing_;  // rows
};

bool ends_row(char byte) { return byte == '\n' || byte == '\r'; }

// Reads columns of whole rows with simple quotes (has_simple_quotes) in one pass: numbers are parsed in place, without
// a list of cells. The last row may lack its line break. Fails if a row has another number of cells, or if a cell is
// not a number.
class PlainCells {
 public:
  // `at_place`: of each cell of a row, the index of its column in `columns`, or -1.
  PlainCells(std::string_view rows, char delimiter, const NumberFormat& written, const std::vector<int>& at_place,
             const std::vector<CsvColumn>& columns)
      : at_(rows.data()),
        end_(rows.data() + rows.size()),
        delimiter_(delimiter),
        decimal_(written.decimal),
        thousands_(written.thousands.size() == 1 ? written.thousands.front() : '\0'),
        at_place_(at_place),
        columns_(columns),
        // If the delimiter is one of these characters, numbers must not be read across it.
        quick_(std::strchr("0123456789-", delimiter) == nullptr && delimiter != decimal_ && delimiter != thousands_),
        numbers_(columns.size()),
        texts_(columns.size()) {}

  arrow::Result<arrow::ArrayVector> take(std::int64_t& number_of_rows) {
    // A row has at least one byte per cell: empty lines reserve no memory.
    const std::int64_t lines = std::count(at_, end_, '\n') + std::count(at_, end_, '\r') + 1;
    const std::int64_t most = std::min<std::int64_t>(lines, (end_ - at_ + 1) / std::ssize(at_place_));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].is_number()) ARROW_RETURN_NOT_OK(numbers_[i].reserve(most));
    }
    for (number_of_rows = 0;; ++number_of_rows) {
      while (at_ < end_ && ends_row(*at_)) ++at_;  // empty lines are not rows
      if (at_ == end_) break;
      ARROW_RETURN_NOT_OK(take_row());
    }
    arrow::ArrayVector arrays;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(),
                            columns_[i].is_number() ? numbers_[i].finish(number_of_rows) : texts_[i].finish());
    }
    return arrays;
  }

 private:
  arrow::Status take_row() {
    for (std::size_t place = 0; place < at_place_.size(); ++place) {
      if (const int i = at_place_[place]; i >= 0) {
        ARROW_RETURN_NOT_OK(take_cell(static_cast<std::size_t>(i)));
      } else {
        skip_cell();
      }
      const bool last = place + 1 == at_place_.size();
      const bool row_ends = at_ == end_ || ends_row(*at_);
      if (last != row_ends) return arrow::Status::Invalid("a row has more or fewer cells than the first one");
      if (!last) ++at_;
    }
    return arrow::Status::OK();
  }

  arrow::Status take_cell(std::size_t i) {
    const CsvColumn& column = columns_[i];
    if (column.wanted.type == format::CellType::number && quick_ && !column.missing.holds_numbers()) {
      double number = 0;
      const char* const after = read_plain_number(at_, end_, number, decimal_, thousands_);
      if (after != nullptr && (after == end_ || *after == delimiter_ || ends_row(*after))) {
        at_ = after;
        numbers_[i].add(number);
        return arrow::Status::OK();
      }
    }
    const bool is_quoted = at_ < end_ && *at_ == '"';
    const std::string_view cell = skip_cell();
    return column.is_number() ? numbers_[i].add(cell, is_quoted, column)
                              : texts_[i].add(cell, is_quoted, column.missing);
  }

  // Returns the cell without its quotes.
  std::string_view skip_cell() {
    const bool is_quoted = at_ < end_ && *at_ == '"';
    const char* const begin = is_quoted ? ++at_ : at_;
    if (is_quoted) {
      while (*at_ != '"') ++at_;
      return {begin, static_cast<std::size_t>(at_++ - begin)};
    }
    while (at_ < end_ && *at_ != delimiter_ && !ends_row(*at_)) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  const char* at_;
  const char* const end_;
  const char delimiter_, decimal_, thousands_;
  const std::vector<int>& at_place_;
  const std::vector<CsvColumn>& columns_;
  const bool quick_;
  std::vector<NumberColumn> numbers_;  // empty for text columns
  std::vector<TextColumn> texts_;      // empty for number columns
};

// Returns a column of rows that Arrow has split into cells.
arrow::Result<Array> take_column(const arrow::csv::BlockParser& parser, const CsvColumn& column) {
  NumberColumn numbers;
  TextColumn texts;
  if (column.is_number()) ARROW_RETURN_NOT_OK(numbers.reserve(parser.num_rows()));
  ARROW_RETURN_NOT_OK(
      parser.VisitColumn(static_cast<std::int32_t>(column.place),
                         [&](const std::uint8_t* data, std::uint32_t size, bool is_quoted, bool) -> arrow::Status {
                           const std::string_view cell(reinterpret_cast<const char*>(data), size);
                           if (column.is_number()) return numbers.add(cell, is_quoted, column);
                           if (!is_utf8(cell)) return arrow::Status::Invalid("a cell is not UTF-8");
                           return texts.add(cell, is_quoted, column.missing);
                         }));
  return column.is_number() ? numbers.finish(parser.num_rows()) : texts.finish();
}

// Extracts the wanted columns from blocks of a CSV file. Thread-safe.
class CsvColumns {
 public:
  // `places` are the indices of the wanted columns in a row of `width` cells.
  CsvColumns(const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places, std::size_t width,
             const format::TableOptions& options)
      : how_(options), dialect_(csv_dialect(options.delimiter)), at_place_(width, -1) {
    arrow::FieldVector fields;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto place = static_cast<std::size_t>(places[i]);
      fields.push_back(arrow::field(wanted[i].name, arrow_type(wanted[i].type)));
      columns_.push_back({.wanted = wanted[i], .place = place, .missing = MissingCells(how_, wanted[i]), .how = &how_});
      wanted_twice_ = wanted_twice_ || at_place_[place] >= 0;
      at_place_[place] = static_cast<int>(i);
    }
    schema_ = arrow::schema(std::move(fields));
  }

  const std::vector<CsvColumn>& columns() const { return columns_; }

  // Returns columns of doubles and of text. Fails if a row does not have `width` cells, or if a cell does not have its
  // column's type.
  arrow::Result<Batch> take(const CsvBlock& block) const {
    std::int64_t rows = 0;
    const std::string_view bytes(*block.bytes);
    ARROW_ASSIGN_OR_RAISE(arrow::ArrayVector arrays,
                          are_plain(bytes)
                              ? PlainCells(bytes, dialect_.delimiter, how_.numbers, at_place_, columns_).take(rows)
                              : take_any(block, rows));
    return arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
  }

 private:
  // Can PlainCells read these rows? It also requires ASCII in text columns.
  bool are_plain(std::string_view rows) const {
    if (wanted_twice_ || !has_simple_quotes(rows, dialect_.delimiter)) return false;
    if (std::all_of(columns_.begin(), columns_.end(), [](const CsvColumn& one) { return one.is_number(); }))
      return true;
    unsigned char all = 0;
    for (const char byte : rows) all |= static_cast<unsigned char>(byte);
    return all < 0x80;
  }

  arrow::Result<arrow::ArrayVector> take_any(const CsvBlock& block, std::int64_t& number_of_rows) const {
    arrow::csv::BlockParser parser(dialect_, static_cast<std::int32_t>(at_place_.size()), /*first_row=*/-1,
                                   std::numeric_limits<std::int32_t>::max());
    const std::string_view bytes(*block.bytes);
    std::uint32_t parsed = 0;
    ARROW_RETURN_NOT_OK(block.last ? parser.ParseFinal(bytes, &parsed) : parser.Parse(bytes, &parsed));
    if (parsed != bytes.size()) return arrow::Status::Invalid("a row does not end where a line ends");
    arrow::ArrayVector arrays;
    for (const CsvColumn& column : columns_) {
      ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), take_column(parser, column));
    }
    number_of_rows = parser.num_rows();
    return arrays;
  }

  const format::TableOptions how_;
  const arrow::csv::ParseOptions dialect_;
  std::vector<CsvColumn> columns_;
  std::vector<int> at_place_;  // of each cell of a row, the index of its column, or -1
  bool wanted_twice_ = false;  // a column occurs twice in the result
  std::shared_ptr<arrow::Schema> schema_;
};

void check_cell(const CsvCell& cell, const CsvColumn& column, Mistakes& mistakes) {
  const auto number = column.is_number() ? column.parsed(cell.text) : std::nullopt;
  if (number ? column.missing.holds(*number) : column.missing.holds(cell.text, cell.is_quoted)) {
    mistakes.add_missing(cell.line, column.wanted);
  } else if (column.is_number() && !number) {
    mistakes.add_text(cell.line, column.wanted, cell.text, column.how->date_format);
  }
}

// Throws ddp::Error (usage) if a wanted cell is not UTF-8.
void check_row(const CsvRow& row, const std::filesystem::path& file, const CsvColumns& taker, std::size_t width,
               bool header, Mistakes& mistakes) {
  for (const CsvColumn& column : taker.columns()) {
    if (column.place >= row.cells.size() || is_utf8(row.cells[column.place].text)) continue;
    throw not_utf8(file, row.cells[column.place].line, "column " + config::in_quotes(column.wanted.name),
                   row.cells[column.place].text);
  }
  if (row.cells.size() != width) {
    return mistakes.add_ragged(
        row.line, "has " + std::to_string(row.cells.size()) + (row.cells.size() == 1 ? " cell" : " cells") +
                      (header ? ", but the header has " : ", but the first row has ") + std::to_string(width));
  }
  for (const CsvColumn& column : taker.columns()) check_cell(row.cells[column.place], column, mistakes);
}

// The delimiter comes from the options, otherwise from the file's ending.
format::TableOptions with_delimiter(format::TableOptions options, std::filesystem::path file) {
  if (options.delimiter != '\0') return options;
  if (file.extension() == ".gz" || file.extension() == ".zst") file.replace_extension();
  options.delimiter = file.extension() == ".tsv" ? '\t' : ',';
  return options;
}

// The caller's thread reads blocks; Arrow's threads parse them. One more block than threads is in progress.
class CsvFile : public format::TableFile {
 public:
  CsvFile(const std::filesystem::path& file, const format::TableOptions& options)
      : file_(file), options_(with_delimiter(options, file)) {
    CsvRows rows(file, options_);
    const std::int64_t first_row = rows.offset();
    CsvRow first;
    if (!rows.next(first)) throw usage_error("is empty", file.string());
    for (std::size_t i = 0; i < first.cells.size(); ++i) {
      const std::string& name = first.cells[i].text;
      if (options.header && !is_utf8(name)) throw not_utf8(file, first.line, "the header", name);
      columns_.push_back({.name = options.header ? name : std::to_string(i)});
    }
    require_distinct(columns_, file);
    begin_ = options.header ? rows.offset() : first_row;
  }

  const std::vector<format::ColumnInfo>& columns() const override { return columns_; }

  std::vector<std::int64_t> blocks() override { return index().rows; }

  void read(const std::vector<format::WantedColumn>& wanted, std::optional<std::int64_t> block) override {
    begin(wanted, block ? index().span(*block) : whole());
  }

  bool next(format::TableChunk& chunk) override {
    for (Taken taken; next_rows(taken);) {
      if (taken.rows->num_rows() == 0) continue;
      chunk = as_chunk(taken.rows);
      return true;
    }
    return false;
  }

  std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const override {
    CsvRows all(file_, options_);
    CsvRow row;
    if (options_.header) all.next(row);
    std::vector<std::int64_t> lines;
    for (std::int64_t number = 0; lines.size() < rows.size() && all.next(row); ++number) {
      while (lines.size() < rows.size() && rows[lines.size()] == number) lines.push_back(row.line);
    }
    return lines;
  }

 private:
  // The rows of a block.
  struct Taken {
    Batch rows;
    std::int64_t bytes = 0;  // of the block
  };
  struct Running {
    arrow::Future<Batch> rows;
    std::int64_t bytes = 0;
  };

  Span whole() const { return {.begin = begin_}; }

  void begin(const std::vector<format::WantedColumn>& wanted, const Span& span) {
    const std::vector<int> places = places_of(wanted, columns_, file_);
    running_.clear();
    taker_ = std::make_shared<CsvColumns>(wanted, places, columns_.size(), options_);
    blocks_ = std::make_unique<CsvBlocks>(file_, options_, span);
  }

  // Returns false at the end.
  bool next_rows(Taken& taken) {
    start_blocks();
    if (running_.empty()) return false;
    const Running first = std::move(running_.front());
    running_.pop_front();
    const arrow::Result<Batch>& done = first.rows.result();
    if (!done.ok()) throw mistakes_or(refusal(done.status(), file_));
    taken = {.rows = *done, .bytes = first.bytes};
    return true;
  }

  const TextBlocks& index() {
    if (index_) return *index_;
    const std::string kind = std::string("csv 1 ") + options_.delimiter + (options_.header ? "header" : "");
    index_ = indexed<TextBlocks>(file_, options_, kind, [&] {
      TextBlocks found;
      begin({}, whole());
      const bool is_packed = is_compressed(file_, options_);
      std::int64_t at = begin_;
      for (Taken taken; next_rows(taken);) {
        found.add(taken.rows->num_rows(), at, taken.bytes, is_packed);
        at += taken.bytes;
      }
      return found;
    });
    return *index_;
  }

  void start_blocks() try {
    arrow::internal::ThreadPool& threads = *arrow::internal::GetCpuThreadPool();
    CsvBlock block;
    while (running_.size() <= static_cast<std::size_t>(threads.GetCapacity()) && blocks_->next(block)) {
      const std::int64_t bytes = block.bytes->size();
      running_.push_back(
          {.rows = require(threads.Submit([taker = taker_, block = std::move(block)] { return taker->take(block); }),
                           file_),
           .bytes = bytes});
    }
  } catch (const Error& error) {
    if (index_) throw;  // all rows were read before: it is the file that cannot be read, and rows need not be looked at
    throw mistakes_or(error);
  }

  // Reads the rows again, which the fast reader refused, and reports their mistakes: up to 20 cells, columns and rows,
  // each with its line. Returns `refusal` if it finds no mistake.
  Error mistakes_or(const Error& refusal) const {
    std::string marks;
    for (const std::string& mark : options_.missing_values) marks += "\"" + mark + "\", ";
    Mistakes mistakes(file_, "list all marks of missing cells: dataset.missing_values = [" + marks + "…]");
    try {
      CsvRows rows(file_, options_);
      CsvRow row;
      if (options_.header) rows.next(row);
      while (!mistakes.full() && rows.next(row)) {
        check_row(row, file_, *taker_, columns_.size(), options_.header, mistakes);
        mistakes.count_rows(1);
      }
    } catch (const Error& error) {
      // The rows after this error cannot be read. All bytes above 127 of a file in another encoding are mistakes: one
      // stands for them.
      if (mistakes.empty()) return error;
    }
    return mistakes.empty() ? refusal : mistakes.error();
  }

  const std::filesystem::path file_;
  const format::TableOptions options_;
  std::vector<format::ColumnInfo> columns_;
  std::int64_t begin_ = 0;  // offset of the rows in bytes
  std::shared_ptr<const CsvColumns> taker_;
  std::unique_ptr<CsvBlocks> blocks_;
  std::deque<Running> running_;
  std::optional<TextBlocks> index_;
};

}  // namespace

std::unique_ptr<format::TableFile> open_csv(const std::filesystem::path& file, const format::TableOptions& options) {
  return std::make_unique<CsvFile>(file, options);
}

}  // namespace ddp::tables
