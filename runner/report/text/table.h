#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace ddp::report {

// The abilities of the terminal behind stdout or stderr.
struct Terminal {
  std::size_t width = 80;  // in columns
  std::size_t height = 24;
  bool cuts = false;       // cut longer lines, which would be wrapped; false if the output is not a terminal
  bool utf8 = true;
  bool colour = false;
};

Terminal terminal_of_stdout();
Terminal terminal_of_stderr();

// Returns the columns that a UTF-8 text takes in a terminal: two for a wide character, none for a combining one.
std::size_t text_width(std::string_view text);

// Returns the text, cut to this number of columns; `mark` stands for what was cut: the end, or the beginning.
std::string clipped(std::string_view text, std::size_t width, std::string_view mark, bool keeps_end = false);

// Breaks the text into lines of this width, between words if they fit. The first line begins at column `indent`, and
// its indent is there. Ends with a line end.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width = 80);

struct Column {
  std::string header = {};
  bool right = false;      // aligned to the right, for numbers
  bool keeps_end = false;  // a cell that is too wide loses its beginning: "…-w4fg/007"
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
