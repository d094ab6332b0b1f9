#pragma once

#include <string>
#include <string_view>

namespace ddp::tokenize {

// Converts bytes that arrive in pieces to UTF-8. A character that spans pieces is returned when it is complete. Bytes
// that are not UTF-8 become U+FFFD, as in Python's bytes.decode(errors="replace"): one for each longest beginning of a
// character (The Unicode Standard 15, section 3.9, "maximal subparts").
class Utf8Stream {
 public:
  // Returns the complete characters so far; "" if more bytes are needed.
  std::string add(std::string_view bytes);
  // Returns the replacement for an incomplete character at the end; "" if the text is complete.
  std::string end();

 private:
  std::string pending_;  // the beginning of a character
};

}  // namespace ddp::tokenize
