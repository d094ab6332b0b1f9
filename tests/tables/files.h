#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <arrow/table.h>

#include "format/table.h"

namespace ddp {

// A folder that is removed after the test, with tables in it.
class TableFolder {
 public:
  TableFolder();
  ~TableFolder();
  TableFolder(const TableFolder&) = delete;
  TableFolder& operator=(const TableFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Each returns the file's path.
  std::filesystem::path write(const std::string& name, const std::string& content) const;
  std::filesystem::path write_gzip(const std::string& name, const std::string& content) const;
  std::filesystem::path write_parquet(const std::string& name, const arrow::Table& table,
                                      std::int64_t group = 1 << 20) const;
  std::filesystem::path write_feather(const std::string& name, const arrow::Table& table) const;

 private:
  std::filesystem::path path_;
};

using Rows = std::vector<std::vector<std::string>>;

// All rows of some columns as text: numbers in their shortest form, missing cells as "?".
Rows rows_of(format::TableFile& table, const std::vector<format::WantedColumn>& wanted);
Rows rows_of(const std::filesystem::path& file, const format::TableOptions& options,
             const std::vector<format::WantedColumn>& wanted);

}  // namespace ddp
