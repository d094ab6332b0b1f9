#include "tables/files.h"

#include <unistd.h>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <parquet/arrow/writer.h>
#include <zlib.h>

#include "catch.h"

namespace ddp {
namespace fs = std::filesystem;
namespace {

void require_ok(const arrow::Status& status) {
  INFO(status.ToString());
  REQUIRE(status.ok());
}

}  // namespace

fs::path TableFolder::write_gzip(const std::string& name, const std::string& content) const {
  gzFile file = gzopen((folder() / name).c_str(), "wb");
  REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) == static_cast<int>(content.size()));
  REQUIRE(gzclose(file) == Z_OK);
  return folder() / name;
}

fs::path TableFolder::write_parquet(const std::string& name, const arrow::Table& table, std::int64_t group) const {
  const auto out = arrow::io::FileOutputStream::Open(folder() / name);
  require_ok(out.status());
  require_ok(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), *out, group));
  require_ok((*out)->Close());
  return folder() / name;
}

fs::path TableFolder::write_feather(const std::string& name, const arrow::Table& table) const {
  const auto out = arrow::io::FileOutputStream::Open(folder() / name);
  require_ok(out.status());
  const auto writer = arrow::ipc::MakeFileWriter(*out, table.schema());
  require_ok(writer.status());
  require_ok((*writer)->WriteTable(table));
  require_ok((*writer)->Close());
  require_ok((*out)->Close());
  return folder() / name;
}

Rows rows_of(format::TableFile& table, const std::vector<format::WantedColumn>& wanted) {
  Rows rows;
  table.read(wanted);
  format::TableChunk chunk;
  while (table.next(chunk)) {
    REQUIRE(chunk.columns.size() == wanted.size());
    for (std::int64_t r = 0; r < chunk.rows; ++r) {
      auto& row = rows.emplace_back();
      for (std::size_t c = 0; c < wanted.size(); ++c) {
        const format::ColumnCells& cells = chunk.columns[c];
        char text[32];
        if (cells.is_missing(r)) {
          row.push_back("?");
        } else if (wanted[c].type == format::CellType::text) {
          row.emplace_back(cells.text_of(r));
        } else {
          row.emplace_back(text, std::to_chars(text, text + sizeof text, cells.numbers[r]).ptr);
        }
      }
    }
  }
  return rows;
}

Rows rows_of(const fs::path& file, const format::TableOptions& options,
             const std::vector<format::WantedColumn>& wanted) {
  return rows_of(*format::open_table(file, options), wanted);
}

}  // namespace ddp
