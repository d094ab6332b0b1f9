#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "format/table.h"

namespace ddp::tables {

// Collects the mistakes in a table, to report them together in up to 20 lines. A column with many bad cells has one
// line, so that it does not hide the other mistakes.
class Mistakes {
 public:
  // `missing`: how a cell is marked as missing. `unit` precedes the number of each mistake: "" for the lines of a text
  // file, which count from 1; "row " for a file without lines, whose rows count from 0.
  Mistakes(const std::filesystem::path& file, std::string missing, std::string unit = "")
      : file_(file), missing_(std::move(missing)), unit_(std::move(unit)) {}

  void add(std::int64_t line, const std::string& what);
  void add(std::int64_t line, const format::WantedColumn& column, const std::string& what);
  // Adds a row with a wrong number of cells.
  void add_ragged(std::int64_t line, const std::string& what);
  // Adds a cell that is not a number.
  void add_text(std::int64_t line, const format::WantedColumn& column, std::string_view cell,
                const std::string& date_format);
  // Adds a missing cell if the column may not have one. Missing cells alone are no mistake of the file.
  void add_missing(std::int64_t line, const format::WantedColumn& column);
  // Counts the rows that were read.
  void count_rows(std::int64_t rows) { rows_ += rows; }

  bool empty() const { return mistakes_ == 0; }
  // True if enough mistakes are known: then the rest of the file need not be read.
  bool full() const { return std::ssize(list_) >= kMost || (!empty() && rows_ - first_rows_ >= kReadOn); }
  std::string place_of(std::int64_t line) const { return file_.string() + ":" + unit_ + std::to_string(line); }
  // Returns one error with all mistakes, in the order of their lines.
  Error error() const;

 private:
  using Lines = std::vector<std::pair<std::int64_t, std::string>>;  // lines of the file, and mistakes in them
  // Mistakes of one kind in one column.
  struct Alike {
    Lines first = {};
    std::int64_t count = 0;
  };

  static constexpr int kMost = 20;
  static constexpr std::int64_t kNamed = 5;           // mistakes that are alike; more have one line together
  static constexpr std::int64_t kReadOn = 1'000'000;  // rows after the first mistake

  void count_mistake();
  void note(const std::string& kind, std::int64_t line, const std::string& what, const std::string& remedy);
  Lines lines() const;

  const std::filesystem::path file_;
  const std::string missing_;
  const std::string unit_;
  Lines list_;  // mistakes that stand for themselves
  std::map<std::string, Alike> alike_;
  std::string remedies_;
  std::int64_t mistakes_ = 0;  // without missing cells
  std::int64_t rows_ = 0;
  std::int64_t first_rows_ = 0;  // rows that were read before the first mistake
};

// Throws ddp::Error (usage) if two columns have the same name.
void require_distinct(const std::vector<format::ColumnInfo>& columns, const std::filesystem::path& file);

// Returns the index of each wanted column among the columns of the file. Throws ddp::Error (usage) that names all
// columns that the file lacks.
std::vector<int> places_of(const std::vector<format::WantedColumn>& wanted,
                           const std::vector<format::ColumnInfo>& columns, const std::filesystem::path& file);

}  // namespace ddp::tables
