#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "format/table.h"

namespace ddp::tables {

// The first 40 bytes of an untrusted text, safe for a terminal.
std::string shortened(std::string_view text);

// The same in quotes.
std::string shown(std::string_view text);

// Collects the mistakes in a table, to report them together in up to 20 lines. A column with many bad cells has one
// line, so that it does not hide the other mistakes.
class Mistakes {
 public:
  // `if_mark`: remedy for a cell such as "?", which may mark a missing value. `unit` precedes the number of each
  // mistake: "" for the lines of a text file, "row " for a file without lines.
  Mistakes(const std::filesystem::path& file, std::string if_mark, std::string unit = "")
      : file_(file), if_mark_(std::move(if_mark)), unit_(std::move(unit)) {}

  // `line` counts from 1.
  void add(std::int64_t line, const std::string& what);
  void add(std::int64_t line, const format::WantedColumn& column, const std::string& what);
  // Adds a row with a wrong number of cells: with one empty cell too many, if it ends with a delimiter.
  void add_ragged(std::int64_t line, const std::string& what, bool ends_with_delimiter);
  // Adds a cell that is not a number.
  void add_text(std::int64_t line, const format::WantedColumn& column, std::string_view cell);
  // Adds a missing cell if the column may not have one. Missing cells alone are no mistake of the file.
  void add_missing(std::int64_t line, const format::WantedColumn& column);
  // Counts the rows that were read.
  void count_rows(std::int64_t rows) { rows_ += rows; }

  bool empty() const { return list_.empty() && ragged_.empty() && texts_.empty(); }
  // True if enough mistakes are known: then the rest of the file need not be read.
  bool full() const { return std::ssize(list_) >= kMost || (!empty() && rows_ - first_rows_ >= kReadOn); }
  // Are all mistakes in this line?
  bool only_in_line(std::int64_t line) const;
  std::string place_of(std::int64_t line) const { return file_.string() + ":" + unit_ + std::to_string(line); }
  // Returns one error with all mistakes, in the order of their lines.
  Error error() const;

 private:
  // The bad cells of a column.
  struct Cells {
    format::WantedColumn column;
    std::int64_t count = 0;
    std::vector<std::pair<std::int64_t, std::string>> first = {};  // lines, and the cells as shown
  };
  using Columns = std::map<std::string, Cells>;

  static constexpr int kMost = 20;
  static constexpr std::size_t kNamedCells = 5;       // of a column; more have one line together
  static constexpr std::int64_t kReadOn = 1'000'000;  // rows after the first mistake

  static void note(Columns& columns, std::int64_t line, const format::WantedColumn& column, std::string_view cell);
  std::string cells_in_words(const Cells& cells, const std::string& kind) const;
  void add_lines_of_ragged(std::vector<std::pair<std::int64_t, std::string>>& all) const;
  std::string remedy_for_ragged() const;
  std::string remedy_for_texts(const std::string& name, const Cells& cells, bool mostly_text) const;
  std::vector<std::pair<std::int64_t, std::string>> lines() const;
  std::string remedy() const;

  const std::filesystem::path file_;
  const std::string if_mark_;
  const std::string unit_;
  std::vector<std::pair<std::int64_t, std::string>> list_;    // lines, and mistakes that stand for themselves
  std::vector<std::pair<std::int64_t, std::string>> ragged_;  // the first rows with a wrong number of cells
  std::int64_t ragged_rows_ = 0;
  std::int64_t rows_with_last_delimiter_ = 0;  // of the ragged rows
  Columns texts_;
  Columns missing_;
  std::int64_t rows_ = 0;
  std::int64_t first_rows_ = 0;  // rows that were read before the first mistake
};

}  // namespace ddp::tables
