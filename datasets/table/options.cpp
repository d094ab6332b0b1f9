#include "datasets/table/options.h"

#include "base/error.h"

namespace ddp::datasets {

std::vector<std::string> given_classes(const TableSection& o) {
  std::vector<std::string> names;
  for (const config::Value& one : o.classes) names.push_back(one.is_string() ? one.get<std::string>() : one.dump());
  return names;
}

format::TableOptions csv_options(const CsvSection& o) {
  if (o.delimiter.size() > 1 || o.delimiter.find_first_of("\"\r\n") != std::string::npos) {
    throw usage_error(
        "the delimiter must be one character, neither a quote nor an end of line, not \"" + o.delimiter + "\"",
        "dataset.delimiter", "write delimiter = \";\", or \"\\t\" for tabs");
  }
  return {.format = "csv",
          .delimiter = o.delimiter.empty() ? '\0' : o.delimiter.front(),
          .header = o.header,
          .missing_values = o.missing_values};
}

format::TableOptions table_options(const config::Component& dataset, const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  if (ending == ".gz") ending = file.stem().extension().string();
  std::string format = dataset.name;
  if (ending == ".csv" || ending == ".tsv") format = "csv";
  if (ending == ".parquet" || ending == ".feather") format = "parquet";
  if (ending == ".jsonl" || ending == ".ndjson") format = "jsonl";
  // Only the dataset "csv" has the options of text tables.
  if (format == "csv" && dataset.name == "csv") return csv_options(config::read<CsvSection>(dataset.options));
  return {.format = format};
}

}  // namespace ddp::datasets
