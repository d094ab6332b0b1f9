#include "tables/csv_quotes.h"

#include <cstddef>

namespace ddp::tables {

bool has_simple_quotes(std::string_view rows, char delimiter) {
  const auto ends_cell = [&](char byte) { return byte == delimiter || byte == '\n' || byte == '\r'; };
  for (std::size_t at = 0; (at = rows.find('"', at)) != rows.npos;) {
    if (at > 0 && !ends_cell(rows[at - 1])) return false;
    do {
      if (++at == rows.size() || rows[at] == '\n' || rows[at] == '\r') return false;
    } while (rows[at] != '"');
    if (++at < rows.size() && !ends_cell(rows[at])) return false;
  }
  return true;
}

}  // namespace ddp::tables
