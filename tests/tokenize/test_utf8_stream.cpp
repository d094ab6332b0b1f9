#include "tokenize/utf8_stream.h"

#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

std::string streamed(std::string_view bytes, std::size_t piece) {
  Utf8Stream stream;
  std::string text;
  for (std::size_t begin = 0; begin < bytes.size(); begin += piece) text += stream.add(bytes.substr(begin, piece));
  return text + stream.end();
}

}  // namespace

TEST_CASE("a character whose bytes arrive one by one is returned when it is complete") {
  Utf8Stream stream;
  const std::string face = "\U0001F600";
  for (std::size_t i = 0; i < 3; ++i) CHECK(stream.add(face.substr(i, 1)).empty());
  CHECK(stream.add(face.substr(3) + "a\xC3") == face + "a");
  CHECK(stream.add("\xA9") == "é");
  CHECK(stream.end().empty());
}

TEST_CASE("the pieces of a text of any size join to the text") {
  std::string text;
  for (const char32_t point : {U'\1', U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xD7FF', U'\xE000', U'\xFFFD', U'\xFFFF',
                               U'\x10000', U'\x40000', U'\x10FFFF'}) {
    append_utf8(point, text);
  }
  for (std::size_t piece = 1; piece <= text.size(); ++piece) CHECK(streamed(text, piece) == text);
}

TEST_CASE("bytes that are no UTF-8 become what Python's errors=\"replace\" makes of them") {
  const std::string r = "\uFFFD";
  // The right side comes from Python 3.11.
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\x80z", "a" + r + "z"},
      {"\xC3(", r + "("},
      {"\xC0\xAF", r + r},
      {"\xE0\x80\x80", r + r + r},
      {"\xED\xA0\x80", r + r + r},
      {"\xE2\x82z", r + "z"},
      {"\xE2\x82", r},
      {"\xF0\x9F\x98", r},
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", r + "\U0001F600"},
      {"\xF0\x80\x80\x80", r + r + r + r},
      {"\xF4\x90\x80\x80", r + r + r + r},
      {"\xF5\xFF", r + r},
      {"\xC3\xC3\xA9", r + "é"},
  };
  for (const auto& [bytes, text] : cases) {
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      INFO(text << ", pieces of " << piece);
      CHECK(streamed(bytes, piece) == text);
    }
  }
}

}  // namespace ddp::tokenize
