#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// Tables that the program writes. The writer lies in libddp_tables.so, as the readers do (table.h): never in a process
// that forks ranks.
namespace ddp::format {

enum class OutputType { text, integer, float32, float64, path };

// A column to write. The cells of a column of text are int32: places in `values`. Those of a column of paths are texts,
// each with a zero byte behind it.
struct OutputColumn {
  std::string name;
  OutputType type = OutputType::float32;
  std::vector<std::string> values = {};
};

// The bytes of a cell as it is handed to a writer; of a path about so many.
inline std::size_t bytes_of_cell(OutputType type) {
  return type == OutputType::integer || type == OutputType::float64 ? 8 : 4;
}

// A Parquet file that is being written. Its memory stays within one row group (64 MB), however many rows follow.
class TableWriter {
 public:
  virtual ~TableWriter() = default;
  // Appends rows. `columns`: the cells of each column, end to end, at an address that its type may have. Throws
  // ddp::Error (training) where the file cannot be written.
  virtual void write(std::int64_t rows, const std::vector<const void*>& columns) = 0;
  // Writes the rest; without it the file is none. Throws what `write` throws.
  virtual void close() = 0;
};

// Writes a table as a Parquet file from the beginning of an empty file; the descriptor stays open. `name`: errors show
// it. Throws ddp::Error: (usage) where libddp_tables.so is missing, (training) where the file cannot be written.
std::unique_ptr<TableWriter> open_table_writer(int descriptor, const std::vector<OutputColumn>& columns,
                                               const std::string& name);

}  // namespace ddp::format
