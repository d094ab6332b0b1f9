#pragma once

#include <filesystem>

#include "format/table.h"
#include "format/table_writer.h"

// The entries of libddp_tables.so (runner/tables), as open_table and open_table_writer find them. The caller owns what
// they return. Each throws what its namesake throws.
extern "C" ddp::format::TableFile* ddp_open_table(const std::filesystem::path* file,
                                                  const ddp::format::TableOptions* options);
extern "C" ddp::format::TableWriter* ddp_open_table_writer(int descriptor,
                                                           const std::vector<ddp::format::OutputColumn>* columns,
                                                           const std::string* name);
