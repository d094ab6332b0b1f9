#pragma once

#include <string>
#include <string_view>

namespace ddp::tables {

// Returns advice for a cell that is not a number but often stands for one: a date, true or false, or another program's
// mark of a missing value. "": the cell is other text.
std::string advice_for(std::string_view cell);

}  // namespace ddp::tables
