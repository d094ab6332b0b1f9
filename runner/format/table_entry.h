#pragma once

#include <filesystem>

#include "format/table.h"
#include "format/table_writer.h"

// The entry points of libddp_tables.so (runner/tables) for open_table and open_table_writer. The caller owns the
// returned objects. Each throws the same errors as its namesake.
extern "C" ddp::format::TableFile* ddp_open_table(const std::filesystem::path* file,
                                                  const ddp::format::TableOptions* options);
extern "C" ddp::format::TableWriter* ddp_open_table_writer(int descriptor,
                                                           const std::vector<ddp::format::OutputColumn>* columns,
                                                           const std::string* name);
