#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "report/text/terminal.h"

namespace ddp::report {

struct Column {
  std::string header = {};
  bool right = false;  // aligned to the right, for numbers
  // If the terminal is too narrow, columns with the greatest number are dropped first; columns with 0 stay.
  int spare = 0;
  // The SGR code of a cell's colour, or "".
  const char* (*colour)(const std::string& cell) = nullptr;
};

// A table whose columns are as wide as their widest cell. Empty columns are left out.
class Table {
 public:
  // Without headers, the table has as many columns as its rows.
  Table() = default;
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // The width of the lines if nothing is cut.
  std::size_t width() const;

  // If `terminal` cuts, no line is longer than its width.
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
