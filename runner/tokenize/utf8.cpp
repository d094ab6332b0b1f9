#include "tokenize/utf8.h"

#include <utf8proc.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

namespace ddp::tokenize {
namespace {

// Are the eight bytes from here all ASCII?
bool eight_ascii(const char* bytes) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, bytes, sizeof eight);
  return (eight & 0x8080808080808080u) == 0;
}

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The continuation of a character, by its first byte (RFC 3629, section 4).
struct Sequence {
  std::size_t length = 0;                   // 0: no character begins with this byte
  unsigned char least = 0x80, most = 0xBF;  // bounds of the second byte; later bytes are 80 to BF
};

Sequence sequence_of(unsigned char first) {
  if (first < 0x80) return {.length = 1};
  if (first < 0xC2 || first > 0xF4) return {};
  if (first < 0xE0) return {.length = 2};
  if (first == 0xE0) return {.length = 3, .least = 0xA0};
  if (first == 0xED) return {.length = 3, .most = 0x9F};
  if (first < 0xF0) return {.length = 3};
  if (first == 0xF0) return {.length = 4, .least = 0x90};
  if (first == 0xF4) return {.length = 4, .most = 0x8F};
  return {.length = 4};
}

// The number of bytes, at the beginning of a non-empty text, that fit the sequence of the first byte.
std::size_t fitting_bytes(std::string_view text, const Sequence& sequence) {
  std::size_t count = 1;
  for (; count < sequence.length && count < text.size(); ++count) {
    const auto byte = static_cast<unsigned char>(text[count]);
    const bool second = count == 1;
    if (byte < (second ? sequence.least : 0x80) || byte > (second ? sequence.most : 0xBF)) break;
  }
  return count;
}

}  // namespace

std::size_t first_invalid(std::string_view text) {
  std::size_t place = 0;
  while (place < text.size()) {
    if (place + 8 <= text.size() && eight_ascii(text.data() + place)) {
      place += 8;
      continue;
    }
    const Sequence sequence = sequence_of(static_cast<unsigned char>(text[place]));
    if (sequence.length == 0 || fitting_bytes(text.substr(place), sequence) < sequence.length) return place;
    place += sequence.length;
  }
  return std::string_view::npos;
}

void append_utf8(char32_t point, std::string& text) {
  if (point < 0x80) return text.push_back(static_cast<char>(point));
  utf8proc_uint8_t bytes[4];
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes);
  text.append(bytes, bytes + size);
}

std::string shown(char32_t point) {
  char number[16];
  std::snprintf(number, sizeof number, "U+%04X", static_cast<unsigned>(point));
  const bool control = point < 0x20 || (point >= 0x7F && point < 0xA0);
  if (control) return number;
  std::string text = "\"";
  append_utf8(point, text);
  return text + "\" (" + number + ")";
}

std::string Utf8Stream::add(std::string_view bytes) {
  pending_ += bytes;
  std::string_view left = pending_;
  std::string text;
  while (!left.empty()) {
    const Sequence sequence = sequence_of(static_cast<unsigned char>(left.front()));
    const std::size_t count = fitting_bytes(left, sequence);
    if (count < sequence.length && count == left.size()) break;
    text += count == sequence.length ? left.substr(0, count) : kReplacement;
    left.remove_prefix(count);
  }
  pending_ = std::string(left);
  return text;
}

std::string Utf8Stream::end() { return std::exchange(pending_, "").empty() ? "" : kReplacement; }

}  // namespace ddp::tokenize
