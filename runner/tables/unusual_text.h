#pragma once

#include <string>
#include <string_view>

namespace ddp::tables {

// Advice for a cell that is not a number but often stands for one. `text` is "": the cell is other text.
struct Advice {
  std::string text = {};
  bool is_number = false;  // the cell stands for a number in every role, also as the target
};

// Knows dates, true and false, marks of a missing value, for which the advice is `if_mark`, and numbers with signs of
// money and percent, separators of thousands and decimal commas.
Advice advice_for(std::string_view cell, const std::string& if_mark);

}  // namespace ddp::tables
