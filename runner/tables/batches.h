#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include "base/error.h"
#include "format/table.h"
#include "tables/mistakes.h"

namespace ddp::tables {

// Returns Arrow's type for columns of this kind: doubles, for dates too, or UTF-8 text with 32-bit offsets.
std::shared_ptr<arrow::DataType> arrow_type(format::CellType type);

// Returns the array with these rows also missing. Copies nothing if there are none.
arrow::Result<std::shared_ptr<arrow::Array>> without_rows(const std::shared_ptr<arrow::Array>& array,
                                                          const std::vector<std::int64_t>& rows);

// Returns some rows as a chunk that owns the memory of the batch, without copies. Each column must be of type double or
// text.
format::TableChunk as_chunk(std::shared_ptr<arrow::RecordBatch> batch);

// How a cell is marked as missing in these formats.
inline constexpr const char* kOnlyNull = "write null for missing cells";

// A file that Arrow reads in batches of rows, with the stored types.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // All columns of the file.
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  // Starts at the first row, or with this one of blocks(), which is then all. `places` are the indices of the wanted
  // columns in the schema, sorted and distinct.
  virtual arrow::Status begin(const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places,
                              std::optional<std::int64_t> block) = 0;
  // As format::TableFile::blocks.
  virtual std::vector<std::int64_t> blocks() const = 0;
  // Returns the next rows, with at least the wanted columns, in any order; null at the end.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() = 0;
  // Explains why the rows were refused: with the lines of a text file. Returns `refusal` if the source knows no better.
  virtual Error explain(const Error& refusal) const { return refusal; }
  // As format::TableFile::lines_of.
  virtual std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const {
    static_cast<void>(rows);
    return {};
  }
};

// Makes a table of a source; converts its cells to the wanted types.
std::unique_ptr<format::TableFile> table_of(const std::filesystem::path& file, std::unique_ptr<BatchSource> source,
                                            const format::TableOptions& options);

}  // namespace ddp::tables
