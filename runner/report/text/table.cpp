#include "report/text/table.h"

#include <algorithm>
#include <numeric>
#include <ostream>

#include "report/text/text_width.h"

namespace ddp::report {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 6;  // columns are not cut to less than this

std::size_t line_width(const std::vector<std::size_t>& widths) {
  std::size_t all = 0;
  for (const std::size_t width : widths) all += width == 0 ? 0 : width + (all == 0 ? 0 : kGap);
  return all;
}

}  // namespace

void Table::row(std::vector<std::string> cells) {
  if (columns_.size() < cells.size()) columns_.resize(cells.size());
  rows_.push_back(std::move(cells));
}

bool Table::has_headers() const {
  return std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return !column.header.empty(); });
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], text_width(cells[i]));
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] > 0) widths[i] = std::max(widths[i], text_width(columns_[i].header));
  }
  return widths;
}

std::size_t Table::width() const { return line_width(widths()); }

// Drops columns that can be spared first, then cuts the widest columns.
std::vector<std::size_t> Table::fitting_widths(const Terminal& terminal, std::size_t room) const {
  std::vector<std::size_t> fitting = widths();
  if (!terminal.cuts) return fitting;
  while (line_width(fitting) > room) {
    std::size_t victim = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (fitting[i] == 0 || columns_[i].spare == 0) continue;
      if (victim == columns_.size() || columns_[i].spare > columns_[victim].spare) victim = i;
    }
    if (victim == columns_.size()) break;
    fitting[victim] = 0;
  }
  while (line_width(fitting) > room) {
    const auto widest = std::max_element(fitting.begin(), fitting.end());
    if (*widest <= kNarrowest) break;
    --*widest;
  }
  return fitting;
}

void Table::print_row(std::ostream& out, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                      const Terminal& terminal, const std::string& indent, bool is_header) const {
  std::string line = indent;
  std::size_t spaces = 0;  // written only before more text
  bool first = true;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    const std::string full = i < cells.size() ? cells[i] : "";
    const std::string cell = terminal.cuts ? clipped(full, widths[i], terminal.utf8 ? "…" : "~") : full;
    const std::size_t rest = widths[i] - std::min(widths[i], text_width(cell));
    spaces += (first ? 0 : kGap) + (columns_[i].right ? rest : 0);
    first = false;
    if (!cell.empty()) {
      const char* colour = !is_header && terminal.colour && columns_[i].colour ? columns_[i].colour(full) : "";
      line += std::string(spaces, ' ') + (*colour ? std::string("\x1b[") + colour + "m" + cell + "\x1b[0m" : cell);
      spaces = 0;
    }
    spaces += columns_[i].right ? 0 : rest;
  }
  out << line << "\n";
}

void Table::print(std::ostream& out, const Terminal& terminal, const std::string& indent) const {
  const auto widths = fitting_widths(terminal, terminal.width - std::min(terminal.width, indent.size()));
  if (has_headers()) {
    std::vector<std::string> headers;
    for (const Column& column : columns_) headers.push_back(column.header);
    print_row(out, headers, widths, terminal, indent, /*is_header=*/true);
  }
  for (const auto& cells : rows_) print_row(out, cells, widths, terminal, indent, /*is_header=*/false);
}

}  // namespace ddp::report
