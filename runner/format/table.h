#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Tables in files: CSV, Parquet, Feather, JSON lines. The readers lie in libddp_tables.so, which needs Arrow C++
// (runner/tables); it is loaded by the first process that opens a table. Arrow starts threads: never in a process that
// forks ranks.
namespace ddp::format {

enum class CellType { number, text };

// A column as the file stores it. Cells of CSV and of text columns are text; a column of integers, floats or booleans
// holds numbers. A file that cannot tell (CSV) says text.
struct ColumnInfo {
  std::string name;
  CellType type = CellType::text;
};

// A column to read. A number is parsed exactly, as a double (std::from_chars' value); a boolean is 0 or 1. Numbers that
// are asked for as text have the shortest text that gives the same double; a whole number has its digits.
struct WantedColumn {
  std::string name;
  CellType type = CellType::number;
};

// The cells of one column of a chunk, in memory that the chunk keeps. A cell is missing where it is null, empty, or one
// of NA, NaN, nan, null, None.
struct ColumnCells {
  const double* numbers = nullptr;        // row i is numbers[i]; of a missing cell: any value
  const std::int32_t* offsets = nullptr;  // row i is text[offsets[i]] to text[offsets[i + 1]]
  const char* text = nullptr;
  const std::uint8_t* valid = nullptr;  // a bit a row, lowest bit first; null: no cell is missing
  std::int64_t first_bit = 0;           // of row 0 in `valid`

  bool is_missing(std::int64_t row) const {
    const std::int64_t bit = first_bit + row;
    return valid != nullptr && (valid[bit >> 3] >> (bit & 7) & 1) == 0;
  }
  std::string_view text_of(std::int64_t row) const {
    return {text + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])};
  }
};

// Some rows of a table, in the order of the file.
struct TableChunk {
  std::int64_t rows = 0;
  std::vector<ColumnCells> columns = {};  // in the order in which they were asked for
  std::shared_ptr<const void> memory = {};
};

struct TableOptions {
  std::string format = "csv";  // "csv", "parquet" or "jsonl"; .gz and .feather files are told by their names
  char delimiter = '\0';       // of CSV; '\0': a comma, of .tsv and .tsv.gz files a tab
  bool header = true;          // of CSV; without one columns are named "0", "1", …
};

// One file, opened. Its memory stays within a few chunks, however large the file is.
class TableFile {
 public:
  virtual ~TableFile() = default;
  // In the order of the file. Two columns of one name are an error when the file is opened.
  virtual const std::vector<ColumnInfo>& columns() const = 0;
  // Begins to read these columns, from the first row. Throws ddp::Error (usage) where a column does not exist.
  virtual void read(const std::vector<WantedColumn>& wanted) = 0;
  // Takes the next rows, a few ten thousand at a time. Returns false at the end. Throws ddp::Error (usage) for a bad
  // cell or a ragged row, with file, line and column: up to 20 of them in one error.
  virtual bool next(TableChunk& chunk) = 0;
  // Returns the line of each of these rows, from 1, where the file is text. `rows`: from 0, ascending. Reads the file
  // once more. Empty: the file has no lines.
  virtual std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const {
    static_cast<void>(rows);
    return {};
  }
};

// Opens a file. Throws ddp::Error (usage) where it cannot be read or is not of that format.
std::unique_ptr<TableFile> open_table(const std::filesystem::path& file, const TableOptions& options);

}  // namespace ddp::format
