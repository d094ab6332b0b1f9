#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// The writer of tables. It is in libddp_tables.so like the readers (table.h): never load it in a process that forks
// ranks.
namespace ddp::format {

enum class OutputType { text, integer, float32, float64, path };

// A column to write. Cells of a text column are int32 indices into `values`. Cells of a column of paths are
// zero-terminated texts.
struct OutputColumn {
  std::string name;
  OutputType type = OutputType::float32;
  std::vector<std::string> values = {};
};

// The bytes of a cell in memory; an estimate for a path.
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
