#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include "format/table.h"
#include "tables/mistakes.h"

namespace ddp::tables {

// Returns Arrow's type for columns of this kind: doubles, or UTF-8 text with 32-bit offsets.
std::shared_ptr<arrow::DataType> arrow_type(format::CellType type);

// Returns the type of a file's column: numbers for integers, floats, decimals and booleans.
format::CellType cell_type(const arrow::DataType& type);

// Throws ddp::Error (usage) if a column of this type, such as lists or structs, cannot be read.
void require_readable(const format::WantedColumn& column, const arrow::DataType& type,
                      const std::filesystem::path& file);

// Converts a column of some rows to doubles or text, as wanted; copies nothing if it already has this type. NaN becomes
// null. Adds cells that are not numbers to `mistakes`; `first_row` is the index of the first row in the file. Throws
// ddp::Error (usage) if a text is not UTF-8. Fails if Arrow fails.
arrow::Result<std::shared_ptr<arrow::Array>> convert(std::shared_ptr<arrow::Array> array,
                                                     const format::WantedColumn& column, std::int64_t first_row,
                                                     Mistakes& mistakes);

// Returns some rows as a chunk that owns the memory of the batch, without copies. Each column must be of type double or
// text.
format::TableChunk as_chunk(std::shared_ptr<arrow::RecordBatch> batch);

}  // namespace ddp::tables
