#pragma once

#include <memory>

#include "datasets/dataset.h"
#include "datasets/table/options.h"

namespace ddp::datasets {

// Opens a table whose rows are read block by block (format::TableFile::blocks). Its samples, their order in the files,
// and its preprocessing are those of the table in memory.
std::unique_ptr<Dataset> open_table_stream(const TableSection& options, format::TableOptions how,
                                           const Context& context);

}  // namespace ddp::datasets
