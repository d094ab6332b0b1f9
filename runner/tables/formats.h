#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <arrow/io/file.h>

#include "format/table.h"
#include "tables/batches.h"

// The formats of tables. Each throws ddp::Error (usage) if it refuses the file.
namespace ddp::tables {

// Refuses an empty file, and a header that names a column twice.
std::unique_ptr<format::TableFile> open_csv(const std::filesystem::path& file, const format::TableOptions& options);

std::unique_ptr<BatchSource> open_parquet(const std::filesystem::path& file,
                                          std::shared_ptr<arrow::io::RandomAccessFile> bytes);

// Feather is Arrow's own file format.
std::unique_ptr<BatchSource> open_feather(const std::filesystem::path& file,
                                          std::shared_ptr<arrow::io::RandomAccessFile> bytes);

// Opens JSON lines: one object per line. Reads all lines once, since each may have a key that no other has.
std::unique_ptr<BatchSource> open_jsonl(const std::filesystem::path& file, const format::TableOptions& options);

// See format::open_table_writer.
std::unique_ptr<format::TableWriter> open_parquet_writer(int descriptor,
                                                         const std::vector<format::OutputColumn>& columns,
                                                         const std::string& name);

}  // namespace ddp::tables
