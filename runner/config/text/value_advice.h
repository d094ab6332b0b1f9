#pragma once

#include <string>
#include <string_view>

#include "config/text/source.h"

namespace ddp::config {

// A mistake of TOML in plain words, and what to write instead.
struct TomlAdvice {
  std::string what;
  std::string remedy;  // empty: none is known
};

// Explains a value that TOML does not take. `at`: the byte of the line where the parser stopped; `words`: the parser's
// own words, which stay if the value is not known.
TomlAdvice value_advice(const Source& source, std::string_view line, std::size_t at, std::string_view words);

// Returns a list with quotes around each word: `["mae", "r2"]` for `[mae, r2]`. Empty: the text is no list of plain
// words and numbers.
std::string with_quoted_words(std::string_view list);

// Returns the parser's words without its "Error while parsing boolean: ".
std::string parser_words(std::string_view words);

// Returns the line to write for several values without brackets, "lr = 0.1, 0.2", or for a number with a comma. Empty:
// the line is neither.
std::string list_advice(std::string_view line);

}  // namespace ddp::config
