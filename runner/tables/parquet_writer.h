#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/table_writer.h"

namespace ddp::tables {

// See format::open_table_writer.
std::unique_ptr<format::TableWriter> open_parquet_writer(int descriptor,
                                                         const std::vector<format::OutputColumn>& columns,
                                                         const std::string& name);

}  // namespace ddp::tables
