#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "format/table.h"

// Delimiters of CSV files. Inline, because the readers of tables and the datasets are in separate libraries.
namespace ddp::format {

// The delimiter of a CSV file: from the options, otherwise from the file's extension.
inline char delimiter_of(const TableOptions& options, std::filesystem::path file) {
  if (options.delimiter != '\0') return options.delimiter;
  if (file.extension() == ".gz") file.replace_extension();
  return file.extension() == ".tsv" ? '\t' : ',';
}

// Suggests a delimiter if a column name in the header contains a delimiter other than the one in use: the header was
// then split at the wrong places. Returns "" otherwise.
inline std::string delimiter_hint(const std::vector<ColumnInfo>& columns, const TableOptions& options,
                                  const std::filesystem::path& file) {
  if (options.format != "csv" || !options.header) return "";
  for (const char candidate : {';', '\t', '|', ','}) {
    const bool held = std::any_of(columns.begin(), columns.end(),
                                  [&](const ColumnInfo& c) { return c.name.find(candidate) != std::string::npos; });
    if (!held || candidate == delimiter_of(options, file)) continue;
    const std::string shown = candidate == '\t' ? "\\t" : std::string(1, candidate);
    return "the header contains " + (candidate == '\t' ? "tabs" : "\"" + shown + "\"") +
           ": if they separate the cells, give dataset.delimiter = \"" + shown + "\", on the command line --set '" +
           "dataset.delimiter=\"" + shown + "\"'";
  }
  return "";
}

}  // namespace ddp::format
