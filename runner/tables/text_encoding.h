#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ddp::tables {

bool is_utf8(std::string_view text);

// Returns the error of a text with a byte that is not UTF-8. `holder`: the part of the line with the text, such as
// `column "city"`.
Error not_utf8(const std::filesystem::path& file, std::int64_t line, const std::string& holder, std::string_view text);

}  // namespace ddp::tables
