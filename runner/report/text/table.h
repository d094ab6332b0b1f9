#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "report/text/terminal.h"

namespace ddp::report {

struct Column {
  std::string header = {};
  bool right = false;  // numbers stand at the right
  // Where the terminal is too narrow, the columns with the greatest number go first; those with 0 stay.
  int spare = 0;
  // The SGR code of a cell's colour, or "".
  const char* (*colour)(const std::string& cell) = nullptr;
};

// Columns that are as wide as their widest cell. Those in which nothing stands are left out.
class Table {
 public:
  // Without headers, as many columns as the rows have.
  Table() = default;
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Of its lines, where nothing is cut off.
  std::size_t width() const;

  // Where `terminal` cuts, no line is longer than it is wide.
  void print(std::ostream& out, const Terminal& terminal, const std::string& indent = "") const;

 private:
  bool has_headers() const;
  std::vector<std::size_t> widths() const;
  std::vector<std::size_t> fitting_widths(const Terminal& terminal, std::size_t room) const;
  void print_row(std::ostream& out, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                 const Terminal& terminal, const std::string& indent, bool is_header) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ddp::report
