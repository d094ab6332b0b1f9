#pragma once

#include <filesystem>
#include <vector>

#include <arrow/type.h>

#include "base/error.h"
#include "format/table.h"

namespace ddp::tables {

// Reads JSON lines that the fast reader refused again, line by line, and reports their mistakes: up to 20 lines and
// cells. `types`: the wanted columns as they were read. Returns `refusal` if it finds no mistake.
Error jsonl_mistakes(const std::filesystem::path& file, const arrow::Schema& types,
                     const std::vector<format::WantedColumn>& wanted, const Error& refusal);

}  // namespace ddp::tables
