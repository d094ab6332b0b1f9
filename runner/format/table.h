#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_number.h"
#include "config/option/fields.h"
#include "format/bytes.h"

namespace ddp::format {

// Tables in files: CSV, Parquet, Feather, JSON lines. The readers are in libddp_tables.so, which needs Arrow C++
// (runner/tables). A process loads it when it first opens a table. Arrow starts threads: never load it in a process
// that forks ranks.

enum class CellType { number, text, date };

// A column as stored in the file. Cells of CSV and of text columns are text; columns of integers, floats or booleans
// are numbers. All columns of a CSV file count as text.
struct ColumnInfo {
  std::string name;
  CellType type = CellType::text;
};

// A column to read. A number is parsed exactly, as a double (as by std::from_chars); a boolean is 0 or 1. A number read
// as text becomes the shortest text that gives the same double; an integer keeps its digits. The cells of a CSV that
// are read as text stay as they are. A date is a number, too: days since 1970-01-01, with the time as a fraction.
struct WantedColumn {
  std::string name;
  CellType type = CellType::number;
  std::vector<std::string> never_missing = {};  // cells that TableOptions::missing_values does not apply to
  std::string if_text = {};     // remedy for a column of numbers that holds text; "": the one of a feature
  std::string if_missing = {};  // remedy for a missing cell; "": cells may be missing
};

// The cells of one column of a chunk; the chunk owns the memory. In a CSV a cell is missing if it is one of
// TableOptions::missing_values; in quotes only if it is empty, or read as a number. In other formats a cell is missing
// if it is null, or NaN in a column of numbers. A missing cell of a CSV that is read as text keeps its text.
struct ColumnCells {
  const double* numbers = nullptr;        // and dates: row i is numbers[i]; undefined for a missing cell
  const std::int32_t* offsets = nullptr;  // row i is text[offsets[i]] to text[offsets[i + 1]]
  const char* text = nullptr;
  const std::uint8_t* valid = nullptr;  // one bit per row, lowest bit first; null: no cell is missing
  std::int64_t first_bit = 0;           // of row 0 in `valid`

  bool is_missing(std::int64_t row) const {
    const std::int64_t bit = first_bit + row;
    return valid != nullptr && (valid[bit >> 3] >> (bit & 7) & 1) == 0;
  }
  std::string_view text_of(std::int64_t row) const {
    return {text + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])};
  }
};

// Consecutive rows of a table, in the order of the file.
struct TableChunk {
  std::int64_t rows = 0;
  std::vector<ColumnCells> columns = {};  // in the order of the wanted columns
  std::shared_ptr<const void> memory = {};
};

// The cells of a CSV that are missing by default.
inline std::vector<std::string> usual_missing_values() { return {"", "NA", "NaN", "nan", "null", "None"}; }

struct TableOptions {
  std::string format = "csv";  // "csv", "parquet" or "jsonl"; the extensions .gz, .zst and .feather are recognized
  char delimiter = '\0';       // of CSV; '\0': a comma, or a tab for .tsv files
  bool header = true;          // of CSV; without a header columns are named "0", "1", …
  std::vector<std::string> missing_values = usual_missing_values();  // of CSV
  NumberFormat numbers = {};                                         // of CSV
  std::string date_format = {};                                      // as parse_date takes it
  OpenBytes open = {};                                               // how files are opened; empty: by their paths
};

// The endings of files of tables. Other files are read in the dataset's format.
inline std::vector<std::string> table_endings() {
  return {".csv",     ".tsv",   ".csv.gz",   ".tsv.gz", ".csv.zst",   ".tsv.zst",  ".parquet",
          ".feather", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".jsonl.zst"};
}

// An open file. Its memory stays within a few chunks, however large the file is.
class TableFile {
 public:
  virtual ~TableFile() = default;
  // The columns in the order of the file. Opening a file with two columns of the same name is an error.
  virtual const std::vector<ColumnInfo>& columns() const = 0;
  // The rows of each part of the file that can be read by itself, in order: a row group of Parquet, a batch of Feather,
  // about 4 MiB of text, a compressed text. A text is read whole to find them; the cache folder keeps what it found.
  virtual std::vector<std::int64_t> blocks() = 0;
  // Starts reading these columns from the first row, or those of one of blocks() alone.
  // Throws ddp::Error (usage) if a column does not exist.
  virtual void read(const std::vector<WantedColumn>& wanted, std::optional<std::int64_t> block = {}) = 0;
  // Reads the next rows, tens of thousands at a time. Returns false at the end. Throws ddp::Error (usage) for bad cells
  // or ragged rows, with file, line and column: up to 20 of them in one error.
  virtual bool next(TableChunk& chunk) = 0;
  // Returns the line number, from 1, of each of these rows in a text file. `rows` count from 0 and ascend. Reads the
  // file again. Returns an empty list if the file has no lines.
  virtual std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const {
    static_cast<void>(rows);
    return {};
  }
};

// Opens a file. Throws ddp::Error (usage) if it cannot be read or has another format.
std::unique_ptr<TableFile> open_table(const std::filesystem::path& file, const TableOptions& options);

// The writer of tables. It is in libddp_tables.so like the readers (table.h): never load it in a process that forks
// ranks.

enum class OutputType { text, integer, float32, float64, label };
constexpr std::array<const char*, 5> names_of(OutputType) { return {"text", "integer", "float32", "float64", "label"}; }

// A column to write. Cells of a text column are int32 indices into `values`. Cells of a column of labels are
// zero-terminated texts.
struct OutputColumn {
  std::string name;
  OutputType type = OutputType::float32;
  std::vector<std::string> values = {};

  void fields(config::Fields& f) {
    f({.name = "name"}, name);
    f({.name = "type"}, type);
    f({.name = "values"}, values);
  }
};

// The bytes of a cell in memory; an estimate for a label.
inline std::size_t bytes_of_cell(OutputType type) {
  return type == OutputType::integer || type == OutputType::float64 ? 8 : 4;
}

// A Parquet file that is being written. Its memory stays within one row group (64 MB), however many rows follow.
class TableWriter {
 public:
  virtual ~TableWriter() = default;
  // Appends rows. `columns` holds the contiguous cells of each column, aligned for their type. Throws ddp::Error
  // (training) if the file cannot be written.
  virtual void write(std::int64_t rows, const std::vector<const void*>& columns) = 0;
  // Writes the rest; without it the file is invalid. Throws the same errors as `write`.
  virtual void close() = 0;
};

// Writes a table as a Parquet file to an empty file; the descriptor stays open. `name` is for errors. Throws ddp::Error
// (usage) if libddp_tables.so is missing, and ddp::Error (training) if the file cannot be written.
std::unique_ptr<TableWriter> open_table_writer(int descriptor, const std::vector<OutputColumn>& columns,
                                               const std::string& name);

}  // namespace ddp::format

// The entry points of libddp_tables.so (runner/tables) for open_table and open_table_writer. The caller owns the
// returned objects. Each throws the same errors as its namesake.
extern "C" ddp::format::TableFile* ddp_open_table(const std::filesystem::path* file,
                                                  const ddp::format::TableOptions* options);
extern "C" ddp::format::TableWriter* ddp_open_table_writer(int descriptor,
                                                           const std::vector<ddp::format::OutputColumn>* columns,
                                                           const std::string* name);
