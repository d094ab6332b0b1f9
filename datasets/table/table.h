#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "format/table.h"

namespace ddp::datasets {

// The passes over the files of a stream.
class Scans;

// The rows of one or several files, in memory in the reader's layout, or in files.
struct Table {
  struct Piece {
    format::TableChunk chunk;
    std::int64_t first_row = 0;  // number of the first row in the table
  };
  struct File {
    std::filesystem::path path;
    std::int64_t first_row = 0;
  };

  // Gets the cells of a column in consecutive rows of the table, from `first_row` on.
  using TakeCells = std::function<void(const format::ColumnCells& cells, std::int64_t rows, std::int64_t first_row)>;

  std::vector<Piece> pieces = {};
  std::vector<File> files = {};
  std::int64_t rows = 0;
  // Of a stream, which has no pieces in memory.
  std::shared_ptr<Scans> scans = {};
  std::optional<format::TableOptions> how = {};  // the options of the read; nothing: rows have no lines

  // Calls `take` with all cells of a column, in order.
  void each(std::size_t column, const TakeCells& take) const;
  // The same for the first `count` columns, in one pass over the files of a stream.
  void each_of(std::size_t count, const std::function<void(std::size_t column, const format::ColumnCells& cells,
                                                           std::int64_t rows, std::int64_t first_row)>& take) const;
  // Calls work(i) for each 0 <= i < count, on several threads. Over the files of a stream, all calls of each() in them
  // that wait share one pass.
  void together(std::int64_t count, const std::function<void(std::int64_t)>& work) const;
  // Returns the places of rows for errors: "people.csv:18", the line of a text file, or "people.parquet:row 17",
  // counted from 0. Reads the files again.
  std::map<std::int64_t, std::string> places_of(const std::set<std::int64_t>& asked) const;
};

// Gets the cells of some columns, in the order in which they were asked for.
using TakeChunk = std::function<void(const format::TableChunk& chunk, std::int64_t first_row)>;

// `scan` reads these columns of all files.
std::shared_ptr<Scans> make_scans(
    std::function<void(const std::vector<std::size_t>& columns, const TakeChunk& take)> scan);

// Returns the cells of a row as bytes, of the columns from `first` up to, but not including, `last`.
std::string cells_of_row(const Table& table, std::int64_t row, std::size_t first, std::size_t last);

// The first of some files, open for read_table: JSON lines are read whole to find their columns.
using OpenTables = std::vector<std::unique_ptr<format::TableFile>>;
inline constexpr std::size_t kMostOpen = 64;

// Opens the files; returns the columns of the first one. Throws ddp::Error (usage) if another file has other columns.
std::vector<format::ColumnInfo> columns_of(const std::vector<std::filesystem::path>& files,
                                           const format::TableOptions& options, OpenTables& opened,
                                           std::size_t most_open = kMostOpen);

// Reads these columns of all files. Throws what TableFile::next throws.
Table read_table(const std::vector<std::filesystem::path>& files, const format::TableOptions& options,
                 const std::vector<format::WantedColumn>& wanted, const OpenTables& opened = {});

// Do the numbers of a column allow that its points group thousands? Then grouped_number() tells.
bool may_be_grouped(const Table& table, std::size_t column);

// Returns a number of a table of one column, read as text, such as "155.683", if the column's points may group
// thousands, as in German: of more than twenty numbers each point is followed by exactly three digits, some numbers
// have none, none begins with "0.", and none has more than three digits before the point. "": they do not.
std::string grouped_number(const Table& texts);

// A mistake in a cell, and the same in several cells: "is missing", "are missing".
struct CellFault {
  std::string one;
  std::string many;
  std::string remedy = {};
};

// Mistakes in the cells of a table. One error reports up to 20 lines of them. A column in which many cells have the
// same fault has one line, so that it does not hide the other mistakes.
class Mistakes {
 public:
  void add(std::int64_t row, const std::string& column, const CellFault& fault);
  // Throws ddp::Error (usage) if a mistake was added; `table` names its place.
  void require_none(const Table& table) const;

 private:
  // Cells of a column with the same fault.
  struct Cells {
    CellFault first;
    std::vector<std::pair<std::int64_t, std::string>> named = {};  // rows, and their faults
    std::int64_t count = 0;
  };
  static constexpr std::size_t kMost = 20;
  static constexpr std::size_t kNamed = 5;  // cells; more have one line together
  std::vector<std::pair<std::int64_t, std::string>> lines() const;

  std::map<std::pair<std::string, std::string>, Cells> cells_;  // by column and remedy
};

}  // namespace ddp::datasets
