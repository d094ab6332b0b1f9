#pragma once

#include <cstdint>
#include <string_view>

#include "config/text/source.h"
#include "config/text/value_advice.h"

namespace ddp::config {

// Explains a parser's error by its place in the source, with lines and columns from 1, and its words.
TomlAdvice toml_advice(const Source& source, std::uint32_t line, std::uint32_t column, std::string_view words);

}  // namespace ddp::config
