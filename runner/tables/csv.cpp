#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/util/future.h>
#include <arrow/util/thread_pool.h>

#include "base/error.h"
#include "tables/batches.h"
#include "tables/cell.h"
#include "tables/csv_columns.h"
#include "tables/csv_rows.h"
#include "tables/formats.h"
#include "tables/mistakes.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

// A wanted column, and its place in a row.
struct Wanted {
  const format::WantedColumn& column;
  std::size_t place = 0;
  MissingCells missing;
};

void check_cell(const CsvCell& cell, const Wanted& wanted, Mistakes& mistakes) {
  const bool is_number = wanted.column.type == format::CellType::number;
  const auto number = is_number ? parse_number(cell.text) : std::nullopt;
  if (number ? wanted.missing.holds(*number) : wanted.missing.holds(cell.text, cell.is_quoted)) {
    mistakes.add_missing(cell.line, wanted.column);
  } else if (is_number && !number) {
    mistakes.add_text(cell.line, wanted.column, cell.text);
  }
}

void check_row(const CsvRow& row, const format::TableOptions& options, std::size_t width,
               const std::vector<Wanted>& wanted, Mistakes& mistakes) {
  if (row.cells.size() != width) {
    mistakes.add_ragged(
        row.line, "has " + std::to_string(row.cells.size()) + (row.cells.size() == 1 ? " cell" : " cells") +
                      (options.header ? ", but the header has " : ", but the first row has ") + std::to_string(width));
    return;
  }
  for (const Wanted& one : wanted) check_cell(row.cells[one.place], one, mistakes);
}

// Returns the first wanted cell of a row that is not UTF-8, with its column.
std::optional<Error> first_not_utf8(const CsvRow& row, const std::filesystem::path& file,
                                    const std::vector<Wanted>& wanted) {
  for (const Wanted& one : wanted) {
    if (one.place >= row.cells.size() || is_utf8(row.cells[one.place].text)) continue;
    return not_utf8(file, row.cells[one.place].line, "column " + shown(one.column.name), row.cells[one.place].text);
  }
  return {};
}

// Reads a CSV file that the fast reader refused again, row by row, and reports its mistakes: up to 20 cells, columns
// and rows, each with its line. Returns `refusal` if it finds no mistake.
Error csv_mistakes(const std::filesystem::path& file, const format::TableOptions& options,
                   const std::vector<format::ColumnInfo>& columns, const std::vector<format::WantedColumn>& all,
                   const Error& refusal) {
  const std::vector<int> places = places_of(all, columns, file);
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < all.size(); ++i) {
    wanted.push_back({.column = all[i],
                      .place = static_cast<std::size_t>(places[i]),
                      .missing = MissingCells(options.missing_values, all[i])});
  }
  Mistakes mistakes(file, "add marks of missing cells to dataset.missing_values");
  try {
    CsvRows rows(file, options.delimiter);
    CsvRow row;
    bool is_header = options.header;
    while (!mistakes.full() && rows.next(row)) {
      if (!is_header) {
        // All bytes above 127 of such a file are mistakes: one stands for them.
        if (const auto bad = first_not_utf8(row, file, wanted)) return *bad;
        check_row(row, options, columns.size(), wanted, mistakes);
        mistakes.count_rows(1);
      }
      is_header = false;
    }
  } catch (const Error& error) {
    // The rows after this error cannot be read.
    if (mistakes.empty()) return error;
  }
  return mistakes.empty() ? refusal : mistakes.error();
}

using Batch = std::shared_ptr<arrow::RecordBatch>;

// The delimiter comes from the options, otherwise from the file's ending.
format::TableOptions with_delimiter(format::TableOptions options, std::filesystem::path file) {
  if (options.delimiter != '\0') return options;
  if (file.extension() == ".gz") file.replace_extension();
  options.delimiter = file.extension() == ".tsv" ? '\t' : ',';
  return options;
}

// The caller's thread reads blocks; Arrow's threads parse them. One more block than threads is in progress.
class CsvFile : public format::TableFile {
 public:
  CsvFile(const std::filesystem::path& file, const format::TableOptions& options)
      : file_(file), options_(with_delimiter(options, file)) {
    CsvRows rows(file, options_.delimiter);
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

  void read(const std::vector<format::WantedColumn>& wanted) override {
    const std::vector<int> places = places_of(wanted, columns_, file_);
    running_.clear();
    wanted_ = wanted;
    taker_ = std::make_shared<CsvColumns>(wanted, places, static_cast<int>(columns_.size()), options_);
    blocks_ = std::make_unique<CsvBlocks>(file_, options_.delimiter, begin_);
  }

  bool next(format::TableChunk& chunk) override {
    for (;;) {
      start_blocks();
      if (running_.empty()) return false;
      const arrow::Result<Batch> done = running_.front().MoveResult();
      running_.pop_front();
      if (!done.ok()) throw csv_mistakes(file_, options_, columns_, wanted_, refusal(done.status(), file_));
      if ((*done)->num_rows() == 0) continue;
      chunk = as_chunk(*done);
      return true;
    }
  }

  std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const override {
    CsvRows all(file_, options_.delimiter);
    CsvRow row;
    if (options_.header) all.next(row);
    std::vector<std::int64_t> lines;
    for (std::int64_t number = 0; lines.size() < rows.size() && all.next(row); ++number) {
      while (lines.size() < rows.size() && rows[lines.size()] == number) lines.push_back(row.line);
    }
    return lines;
  }

 private:
  void start_blocks() try {
    arrow::internal::ThreadPool& threads = *arrow::internal::GetCpuThreadPool();
    CsvBlock block;
    while (running_.size() <= static_cast<std::size_t>(threads.GetCapacity()) && blocks_->next(block)) {
      running_.push_back(
          require(threads.Submit([taker = taker_, block = std::move(block)] { return taker->take(block); }), file_));
    }
  } catch (const Error& error) {
    throw csv_mistakes(file_, options_, columns_, wanted_, error);
  }

  const std::filesystem::path file_;
  const format::TableOptions options_;
  std::vector<format::ColumnInfo> columns_;
  std::int64_t begin_ = 0;  // offset of the rows in bytes
  std::vector<format::WantedColumn> wanted_;
  std::shared_ptr<const CsvColumns> taker_;
  std::unique_ptr<CsvBlocks> blocks_;
  std::deque<arrow::Future<Batch>> running_;
};

}  // namespace

std::unique_ptr<format::TableFile> open_csv(const std::filesystem::path& file, const format::TableOptions& options) {
  return std::make_unique<CsvFile>(file, options);
}

}  // namespace ddp::tables
