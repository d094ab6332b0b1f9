#pragma once

#include <string>
#include <string_view>

namespace ddp::tables {

// A number as people write it: with a sign of money or percent, with separators of thousands, with a decimal comma.
struct WrittenNumber {
  std::string plain;       // as a table takes it; "": the text is no such number
  std::string as_decimal;  // if its one comma may be a decimal comma: the other reading
};

WrittenNumber written_number(std::string_view text);

}  // namespace ddp::tables
