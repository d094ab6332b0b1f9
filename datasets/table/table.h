#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "format/table.h"

namespace ddp::datasets {

// The rows of one or several files, in memory as the reader gave them.
struct Table {
  struct Piece {
    format::TableChunk chunk;
    std::int64_t first_row = 0;  // of the table
  };
  struct File {
    std::filesystem::path path;
    std::int64_t first_row = 0;
  };

  std::vector<Piece> pieces = {};
  std::vector<File> files = {};
  std::int64_t rows = 0;
  std::optional<format::TableOptions> how = {};  // they were read; nothing: rows have no lines

  // "people.csv:18", "people.parquet:row 17": where rows stand, by line where the file is text, else counted from 1.
  // Reads the files once more.
  std::map<std::int64_t, std::string> places_of(const std::set<std::int64_t>& asked) const;
};

// The columns of the first file; the others must have the same ones. Throws ddp::Error (usage) where they have not.
std::vector<format::ColumnInfo> columns_of(const std::vector<std::filesystem::path>& files,
                                           const format::TableOptions& options);

// Reads these columns of all files. Throws what TableFile::next throws.
Table read_table(const std::vector<std::filesystem::path>& files, const format::TableOptions& options,
                 const std::vector<format::WantedColumn>& wanted);

// Mistakes in the cells of a table: one error tells up to 20 of them.
class Mistakes {
 public:
  void add(std::int64_t row, const std::string& column, const std::string& what, const std::string& remedy = "");
  bool full() const { return list_.size() >= kMost; }
  // Throws ddp::Error (usage) where there is one in this table.
  void require_none(const Table& table) const;

 private:
  struct Mistake {
    std::int64_t row = 0;
    std::string text;
    std::string remedy;
  };
  static constexpr std::size_t kMost = 20;
  std::vector<Mistake> list_;
};

}  // namespace ddp::datasets
