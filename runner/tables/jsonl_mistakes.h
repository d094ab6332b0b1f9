#pragma once

#include <filesystem>
#include <vector>

#include <arrow/type.h>

#include "base/error.h"

namespace ddp::tables {

// Reads JSON lines that the fast reader refused once more, line by line, and says what is wrong with them: up to 20
// lines and cells. `wanted`: the columns and the types that were asked for. `refusal`: what is said where nothing wrong
// is found.
Error jsonl_mistakes(const std::filesystem::path& file, const arrow::Schema& wanted, const Error& refusal);

}  // namespace ddp::tables
