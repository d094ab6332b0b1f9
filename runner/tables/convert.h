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

// Returns the type in which Arrow stores columns of this kind: doubles, or text in UTF-8 with offsets of 32 bits.
std::shared_ptr<arrow::DataType> arrow_type(format::CellType type);

// Returns the type of a file's column: numbers where it is of integers, floats, decimals or booleans.
format::CellType cell_type(const arrow::DataType& type);

// Throws ddp::Error (usage) where a column of this type cannot be read: lists, structs and the like.
void require_readable(const format::WantedColumn& column, const arrow::DataType& type,
                      const std::filesystem::path& file);

// A column of some rows as the doubles or the text that is wanted; not copied where it is that already. Cells that say
// that they are missing, and numbers that are NaN, are null. Cells that are no numbers go to `mistakes`; `first_row` is
// the place of the first row in the file, from 0. Fails where Arrow does.
arrow::Result<std::shared_ptr<arrow::Array>> convert(std::shared_ptr<arrow::Array> array,
                                                     const format::WantedColumn& column, std::int64_t first_row,
                                                     Mistakes& mistakes);

// Some rows as a chunk that keeps the memory of the batch: nothing is copied. Each column is of one of these two types.
format::TableChunk as_chunk(std::shared_ptr<arrow::RecordBatch> batch);

}  // namespace ddp::tables
