#pragma once

#include <string>
#include <string_view>

namespace ddp::tokenize {

// Turns bytes that come piece by piece into UTF-8. A character whose bytes come in several pieces is given when it is
// whole. Bytes that are no UTF-8 become U+FFFD, as Python's bytes.decode(errors="replace") has it: one for each longest
// beginning of a character (The Unicode Standard 15, section 3.9, "maximal subparts").
class Utf8Stream {
 public:
  // Returns what is whole now; "" where more bytes are needed.
  std::string add(std::string_view bytes);
  // Returns what stands for the beginning of a character that was never completed; "" where there is none.
  std::string end();

 private:
  std::string pending_;  // the beginning of a character
};

}  // namespace ddp::tokenize
