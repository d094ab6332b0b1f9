#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/text/source.h"

namespace ddp::config {

// A mistake of TOML in plain words, and what to write instead.
struct TomlAdvice {
  std::string what;
  std::string remedy;  // empty: none is known
};

// Explains a parser's error by its place in the source, with lines and columns from 1, and its words.
TomlAdvice toml_advice(const Source& source, std::uint32_t line, std::uint32_t column, std::string_view words);

}  // namespace ddp::config
