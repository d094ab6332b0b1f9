#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddp::report {

// Returns the columns that a UTF-8 text takes in a terminal: two for a wide character, none for a combining one.
std::size_t text_width(std::string_view text);

// Returns the text, cut to this number of columns; `mark` ends a text that was cut.
std::string clipped(std::string_view text, std::size_t width, std::string_view mark);

}  // namespace ddp::report
