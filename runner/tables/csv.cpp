#include "tables/csv.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/util/future.h>
#include <arrow/util/thread_pool.h>

#include "base/error.h"
#include "config/text/source.h"
#include "format/delimiter.h"
#include "format/header_hint.h"
#include "tables/columns.h"
#include "tables/convert.h"
#include "tables/csv_blocks.h"
#include "tables/csv_columns.h"
#include "tables/csv_mistakes.h"
#include "tables/csv_rows.h"
#include "tables/source.h"
#include "tables/text_encoding.h"

namespace ddp::tables {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

format::TableOptions with_delimiter(format::TableOptions options, const std::filesystem::path& file) {
  options.delimiter = format::delimiter_of(options, file);
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
    require_distinct(columns_, file, format::header_hint(columns_, options_, file));
    begin_ = options.header ? rows.offset() : first_row;
  }

  const std::vector<format::ColumnInfo>& columns() const override { return columns_; }

  void read(const std::vector<format::WantedColumn>& wanted) override {
    const bool none_is_there = std::none_of(wanted.begin(), wanted.end(), [&](const format::WantedColumn& one) {
      return std::any_of(columns_.begin(), columns_.end(), [&](const auto& column) { return column.name == one.name; });
    });
    const std::vector<int> places = places_of(
        wanted, columns_, file_, format::header_hint(columns_, options_, file_, line_of_names(wanted), none_is_there));
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
  std::string line_of_names(const std::vector<format::WantedColumn>& wanted) const {
    std::string names;
    for (const format::WantedColumn& column : wanted) {
      names += (names.empty() ? "" : std::string(1, options_.delimiter)) + config::printable(column.name);
    }
    return names;
  }

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
