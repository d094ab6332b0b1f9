#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddp::config {

// A mistake of TOML in plain words, and what to write instead.
struct TomlAdvice {
  std::string what;
  std::string remedy;  // empty: none is known
};

// Explains a parser's error: its place in `text`, with lines and columns from 1, and its words.
TomlAdvice toml_advice(std::string_view text, std::uint32_t line, std::uint32_t column, std::string_view words);

}  // namespace ddp::config
