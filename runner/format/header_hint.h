#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text_number.h"
#include "format/delimiter.h"

// Hints for a CSV file whose first line does not name the wanted columns. Inline, because the readers of tables and the
// datasets are in separate libraries.
namespace ddp::format {

inline bool names_a_number(const ColumnInfo& column) { return text_number<double>(column.name).has_value(); }

// Returns the likely reason why the first line is no line of names: another delimiter, data, JSON, a title, an empty
// name. Returns "" if it looks like names. `names`: the line of names that the file must have; "": the names are free.
// `none_is_there`: the line has none of the wanted names, so a single number in it shows that it is data.
inline std::string header_hint(const std::vector<ColumnInfo>& columns, const TableOptions& options,
                               const std::filesystem::path& file, const std::string& names = "",
                               bool none_is_there = false) {
  if (options.format != "csv" || !options.header || columns.empty()) return "";
  if (columns.front().name.starts_with("{")) {
    return "the first line looks like JSON: dataset.name = \"jsonl\" reads one object per line; as a setting, the "
           "whole table with all its options: --set 'dataset={name=\"jsonl\", path=\"…\", target=\"…\"}'";
  }
  if (std::string hint = delimiter_hint(columns, options, file); !hint.empty()) return hint;
  const auto numbers = std::count_if(columns.begin(), columns.end(), names_a_number);
  const bool is_data = numbers * 2 >= std::ssize(columns) || (none_is_there && numbers > 0);
  if (is_data && !names.empty()) {
    return "the first line looks like data: begin the file with the line of names: " + names;
  }
  if (is_data) {
    return "the first line looks like data: if the file has no line of names, give dataset.header = false; the columns "
           "are then \"0\" to \"" +
           std::to_string(columns.size() - 1) + "\"";
  }
  // One empty name is pandas' index.
  const auto empty =
      std::count_if(columns.begin(), columns.end(), [](const ColumnInfo& column) { return column.name.empty(); });
  if (columns.size() > 1 && empty * 2 < std::ssize(columns)) return "";
  return "the first line must name the columns: remove the lines above the names";
}

}  // namespace ddp::format
