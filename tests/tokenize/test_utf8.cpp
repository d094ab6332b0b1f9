#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "errors.h"
#include "tokenize/utf8.h"
#include "vocabulary.h"
#include "words.h"

namespace ddp::tokenize {
namespace {

std::string streamed(std::string_view bytes, std::size_t piece) {
  Utf8Stream stream;
  std::string text;
  for (std::size_t begin = 0; begin < bytes.size(); begin += piece) text += stream.add(bytes.substr(begin, piece));
  return text + stream.end();
}

std::shared_ptr<const Tokenizer> char_of(std::string_view bytes) {
  return make_tokenizer("char", text_of(bytes)).tokenizer;
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

TEST_CASE("char numbers the distinct code points of the text in ascending order") {
  const auto tokenizer = char_of("hé\nllo 😀é");
  CHECK(tokenizer->vocab_size() == 7);  // \n, blank, h, l, o, é, 😀
  CHECK(ids_of(*tokenizer, "h\n😀é o") == std::vector<std::int64_t>{2, 0, 6, 5, 1, 4});
  CHECK(tokenizer->decode(std::vector<std::int64_t>{6, 5, 1, 4}) == "😀é o");
}

TEST_CASE("char names a character that the training text lacks, and its place") {
  const auto tokenizer = char_of("abc ");
  CHECK(contains(error_of([&] { ids_of(*tokenizer, "ab é"); }), "a.txt: byte 3: the character \"é\" (U+00E9)"));
  CHECK(contains(error_of([&] { ids_of(*tokenizer, "ab\x07"); }), "the character U+0007 does not occur"));
  CHECK(contains(error_of([&] { tokenizer->decode(std::vector<std::int64_t>{4}); }), "4 is not an id"));
  CHECK(contains(error_of([&] { tokenizer->decode(std::vector<std::int64_t>{-1}); }), "-1 is not"));
}

TEST_CASE("a text that is not UTF-8 is refused with file and byte") {
  for (const std::string bad : {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                                "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82", "\xF0\x9F\x98"}) {
    const std::string text = "twelve bytes" + bad;
    INFO(shown(static_cast<unsigned char>(bad[0])));
    CHECK(first_invalid(text) == 12);
    CHECK(contains(error_of([&] { char_of(text); }), "a.txt: byte 12: is not UTF-8"));
    CHECK(contains(error_of([&] { char_of(text + " and more"); }), "byte 12"));
  }
  // The end of one file and the beginning of the next do not form a character.
  const Text parts{.bytes = "a\xC3\xA9", .sources = {{.name = "a.txt", .begin = 0}, {.name = "b.txt", .begin = 2}}};
  CHECK(contains(error_of([&] { make_tokenizer("char", parts); }), "a.txt: byte 1: is not UTF-8"));
}

TEST_CASE("every code point reads back as it was written") {
  std::string text;
  std::u32string points;
  for (char32_t point = 0; point <= kLastCodePoint; ++point) {
    if (point >= 0xD800 && point < 0xE000) continue;
    points.push_back(point);
    append_utf8(point, text);
  }
  REQUIRE(first_invalid(text) == std::string::npos);
  std::u32string read;
  for (std::size_t place = 0; place < text.size();) read.push_back(next_code_point(text, place));
  CHECK(read == points);
}

TEST_CASE("byte accepts any bytes and returns them unchanged") {
  const auto tokenizer = make_tokenizer("byte", Text()).tokenizer;
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes.push_back(static_cast<char>(i * 7));
  const std::vector<std::int64_t> ids = ids_of(*tokenizer, bytes);
  REQUIRE(ids.size() == bytes.size());
  CHECK(ids[255] == (255 * 7) % 256);
  CHECK(tokenizer->vocab_size() == 256);
  CHECK(tokenizer->decode(ids) == bytes);
  CHECK(contains(error_of([&] { tokenizer->decode(std::vector<std::int64_t>{256}); }), "256 is not a byte"));
}

TEST_CASE("a tokenizer kept in preprocessing.json encodes like the one that was made for the text") {
  for (const char* name : {"char", "byte"}) {
    const NamedTokenizer made = make_tokenizer(name, text_of("hé\nllo 😀é"));
    const config::Value kept = config::Value::parse(to_json(made).dump());
    const NamedTokenizer again = tokenizer_from_json(kept);
    CHECK(again.name == name);
    CHECK(again.tokenizer->vocab_size() == made.tokenizer->vocab_size());
    CHECK(ids_of(*again.tokenizer, "oh é") == ids_of(*made.tokenizer, "oh é"));
  }
}

TEST_CASE("a preprocessing.json without a tokenizer is refused") {
  for (const char* kept : {"null", "3", "{}", "{\"name\": 3}", "{\"name\": \"words\"}", "{\"name\": \"gpt2\"}",
                           "{\"name\": \"gpt2\", \"folder\": \"/etc\"}", "{\"name\": \"gpt2\", \"tokens\": [\"a\"]}",
                           "{\"name\": \"gpt2\", \"tokens\": 3}", "{\"name\": \"char\", \"characters\": [1]}"}) {
    INFO(kept);
    CHECK(!error_of([&] { tokenizer_from_json(config::Value::parse(kept)); }).empty());
  }
}

}  // namespace ddp::tokenize
