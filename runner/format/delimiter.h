#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "format/table.h"

// Delimiters of CSV files. Inline: the readers of tables and the datasets lie in libraries of their own.
namespace ddp::format {

// The character between two cells of a CSV file: the one of the options, else the one that its name says.
inline char delimiter_of(const TableOptions& options, std::filesystem::path file) {
  if (options.delimiter != '\0') return options.delimiter;
  if (file.extension() == ".gz") file.replace_extension();
  return file.extension() == ".tsv" ? '\t' : ',';
}

// Suggests a delimiter where a name of a CSV file's header holds one that the file is not read with: the header was
// cut at the wrong places then. "": no name holds one.
inline std::string delimiter_hint(const std::vector<ColumnInfo>& columns, const TableOptions& options,
                                  const std::filesystem::path& file) {
  if (options.format != "csv" || !options.header) return "";
  for (const char candidate : {';', '\t', '|', ','}) {
    const bool held = std::any_of(columns.begin(), columns.end(),
                                  [&](const ColumnInfo& c) { return c.name.find(candidate) != std::string::npos; });
    if (!held || candidate == delimiter_of(options, file)) continue;
    const std::string shown = candidate == '\t' ? "\\t" : std::string(1, candidate);
    return "the header holds " + (candidate == '\t' ? "tabs" : "\"" + shown + "\"") +
           ": where they separate the cells, give dataset.delimiter = \"" + shown + "\"";
  }
  return "";
}

}  // namespace ddp::format
