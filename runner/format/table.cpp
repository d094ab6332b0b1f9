#include "format/table.h"

#include "base/installation.h"
#include "format/table_entry.h"

namespace ddp::format {

std::unique_ptr<TableFile> open_table(const std::filesystem::path& file, const TableOptions& options) {
  static const auto open = reinterpret_cast<decltype(&ddp_open_table)>(tables_library().entry("ddp_open_table"));
  return std::unique_ptr<TableFile>(open(&file, &options));
}

std::unique_ptr<TableWriter> open_table_writer(int descriptor, const std::vector<OutputColumn>& columns,
                                               const std::string& name) {
  static const auto open =
      reinterpret_cast<decltype(&ddp_open_table_writer)>(tables_library().entry("ddp_open_table_writer"));
  return std::unique_ptr<TableWriter>(open(descriptor, &columns, &name));
}

}  // namespace ddp::format
