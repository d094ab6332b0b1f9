#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddp::report {

// How many columns of a terminal a UTF-8 text takes: two for a wide character, none for one that is put on the one
// before it.
std::size_t text_width(std::string_view text);

// The text, cut off where it takes more columns than that; `mark` stands at the end of one that was.
std::string clipped(std::string_view text, std::size_t width, std::string_view mark);

}  // namespace ddp::report
