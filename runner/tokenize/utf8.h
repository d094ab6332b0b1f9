#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddp::tokenize {

// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.

// The largest code point.
inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// Returns the position of the first byte at which no valid code point begins; npos if the text is valid.
std::size_t first_invalid(std::string_view text);

// Reads the code point at `place` of a valid text and moves `place` past it.
inline char32_t next_code_point(std::string_view text, std::size_t& place) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[place + i]); };
  const char32_t first = byte(0);
  if (first < 0x80) {
    ++place;
    return first;
  }
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t point = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) point = point << 6 | (byte(i) & 0x3Fu);
  place += length;
  return point;
}

// Appends a code point to a text.
void append_utf8(char32_t point, std::string& text);

// Returns a printable form of a code point: "é" (U+00E9); for one that is not printable: U+0007.
std::string shown(char32_t point);

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
