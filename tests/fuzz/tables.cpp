// A table that a user names: the first byte selects the format, the rest is the file.
#include <iterator>
#include <memory>

#include "base/error.h"
#include "format/table.h"
#include "target.h"

namespace ddp::fuzz {
namespace {

// Reads every byte of every cell of a chunk.
void look_at(const format::TableChunk& chunk, const std::vector<format::WantedColumn>& wanted) {
  std::size_t bytes = 0;
  double sum = 0;
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    const format::ColumnCells& cells = chunk.columns.at(c);
    for (std::int64_t row = 0; row < chunk.rows; ++row) {
      if (cells.is_missing(row)) continue;
      if (wanted[c].type == format::CellType::number) {
        sum += cells.numbers[row];
      } else {
        for (const char byte : cells.text_of(row)) bytes += byte != 0;
      }
    }
  }
  require(bytes < SIZE_MAX && !(sum != sum && chunk.rows == 0), "cells can be looked at");
}

void read_all(format::TableFile& table, format::CellType type) {
  std::vector<format::WantedColumn> wanted;
  for (const format::ColumnInfo& column : table.columns()) wanted.push_back({column.name, type});
  try {
    table.read(wanted);
    for (format::TableChunk chunk; table.next(chunk);) look_at(chunk, wanted);
  } catch (const Error& error) {
    require(is_showable(error.what()), "an error can be shown");
  }
}

// The first byte selects the format. The content distinguishes Feather from Parquet, and gzip from plain files.
const format::TableOptions kOptions[] = {{.format = "csv"},
                                         {.format = "parquet"},
                                         {.format = "jsonl"},
                                         {.format = "csv", .header = false},
                                         {.format = "csv", .delimiter = '\t'}};

}  // namespace
}  // namespace ddp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  if (size == 0) return 0;
  const format::TableOptions& options = fuzz::kOptions[data[0] % std::size(fuzz::kOptions)];
  const auto file = fuzz::scratch_file("table", {reinterpret_cast<const char*>(data) + 1, size - 1});
  try {
    const std::unique_ptr<format::TableFile> table(ddp_open_table(&file, &options));
    fuzz::read_all(*table, format::CellType::number);
    fuzz::read_all(*table, format::CellType::text);
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error can be shown");
  }
  return 0;
}

// The function of libFuzzer; a program without libFuzzer mutates nothing.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) __attribute__((weak));

// Keeps the format, so each format gets the share of time that its samples have.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned) {
  if (size == 0 || most < 2) return size;
  return 1 + LLVMFuzzerMutate(data + 1, size - 1, most - 1);
}
