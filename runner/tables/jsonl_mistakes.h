#pragma once

#include <filesystem>
#include <vector>

#include <arrow/type.h>

#include "base/error.h"

namespace ddp::tables {

// Reads JSON lines that the fast reader refused again, line by line, and reports their mistakes: up to 20 lines and
// cells. `wanted` holds the wanted columns and types. Returns `refusal` if it finds no mistake.
Error jsonl_mistakes(const std::filesystem::path& file, const arrow::Schema& wanted, const Error& refusal);

}  // namespace ddp::tables
