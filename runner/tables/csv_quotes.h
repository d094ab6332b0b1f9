#pragma once

#include <string_view>

namespace ddp::tables {

// Does each quoted cell of these whole rows stand in one line, and hold no quote? A quote that is part of a cell
// without quotes around it is none of these. Where there are no other quotes, each line break ends a row.
bool has_simple_quotes(std::string_view rows, char delimiter);

}  // namespace ddp::tables
