#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tables/text_lines.h"

namespace ddp::tables {

// The kinds of cells, and of columns.
enum class Kind : std::uint8_t { null, boolean, integer, number, infinite, text, list, object };
constexpr std::array<const char*, 8> names_of(Kind) {
  return {"null", "boolean", "integer", "number", "infinite", "text", "list", "object"};
}

// The bytes of a number that the kind depends on: 1 for a digit or "-", 2 for what a whole number lacks.
inline constexpr std::array<std::uint8_t, 256> kNumberBytes = [] {
  std::array<std::uint8_t, 256> bytes{};
  for (const char byte : std::string_view("0123456789-")) bytes[static_cast<std::uint8_t>(byte)] = 1;
  for (const char byte : std::string_view(".eE+")) bytes[static_cast<std::uint8_t>(byte)] = 2;
  return bytes;
}();

// A cell as its line has it: a text without its quotes, and with its escapes.
struct Cell {
  Kind kind = Kind::null;
  std::string_view written = {};
};

// Walks over the members of an object in one line.
class Members {
 public:
  explicit Members(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  // Calls `take(key, cell)` for each member; a key may have escapes. Returns false if the line is no object, and
  // overlooks mistakes in the cells.
  template <class Take>
  bool each(const Take& take) {
    if (!skip('{')) return false;
    if (skip('}')) return at_end();
    do {
      std::string_view key;
      Cell cell;
      if (!skip('"') || !take_text(key) || !skip(':') || !take_cell(cell)) return false;
      take(key, cell);
    } while (skip(','));
    return skip('}') && at_end();
  }

 private:
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool skip(char byte) {
    skip_blanks();
    if (at_ == end_ || *at_ != byte) return false;
    ++at_;
    return true;
  }

  bool skip(std::string_view word) {
    if (!std::string_view(at_, end_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool at_end() {
    skip_blanks();
    return at_ == end_;
  }

  // Reads from after the opening quote to after the closing quote.
  bool take_text(std::string_view& text) {
    const char* const begin = at_;
    for (;;) {
      at_ = static_cast<const char*>(std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_)));
      if (at_ == nullptr) return false;
      const char* escapes = at_;
      while (escapes != begin && escapes[-1] == '\\') --escapes;
      const char* const quote = at_++;
      if ((quote - escapes) % 2 == 0) {
        text = {begin, quote};
        return true;
      }
    }
  }

  bool take_cell(Cell& cell) {
    skip_blanks();
    if (at_ == end_) return false;
    if (*at_ == '"') {
      ++at_;
      cell.kind = Kind::text;
      return take_text(cell.written);
    }
    const char* const begin = at_;
    if (!take_other(cell.kind)) return false;
    cell.written = {begin, at_};
    return true;
  }

  bool take_other(Kind& kind) {
    switch (*at_) {
      case '{':
      case '[':
        kind = *at_ == '{' ? Kind::object : Kind::list;
        return skip_nested();
      case 't':
        kind = Kind::boolean;
        return skip("true");
      case 'f':
        kind = Kind::boolean;
        return skip("false");
      case 'n':
        kind = Kind::null;
        return skip("null");
      case 'N':
        kind = Kind::null;
        return skip(kNan);
      default:
        return take_number(kind);
    }
  }

  bool take_number(Kind& kind) {
    const char* const begin = at_;
    std::uint8_t seen = 0;
    for (std::uint8_t byte = 0; at_ != end_ && (byte = kNumberBytes[static_cast<std::uint8_t>(*at_)]) != 0; ++at_) {
      seen |= byte;
    }
    kind = (seen & 2) == 0 ? Kind::integer : Kind::number;
    if (at_ != end_ && *at_ == 'I') {
      kind = Kind::infinite;
      return skip(kInfinity);
    }
    return at_ != begin;
  }

  bool skip_nested() {
    for (int depth = 0; at_ != end_;) {
      const char byte = *at_++;
      std::string_view text;
      if (byte == '"' && !take_text(text)) return false;
      depth += (byte == '{' || byte == '[') - (byte == '}' || byte == ']');
      if (depth == 0) return true;
    }
    return false;
  }

  const char* at_;
  const char* const end_;
};

// Is the cell one of JSON, or NaN or Infinity?
bool is_json(const Cell& cell);

// The text that a key or a cell stands for. Throws nlohmann::json::exception if it is none of JSON.
std::string unescaped(std::string_view written);

// The places of keys among the names of the columns.
class Keys {
 public:
  Keys() = default;
  explicit Keys(const std::vector<std::string>& names) {
    // A name with a backslash is never written so. No line has a lone quote for a key.
    for (const std::string& name : names) add(name, name.find('\\') == name.npos ? name : "\"");
  }

  // Returns the place of the next key of a line, as the line has it. Most lines have their keys in the order of the
  // lines before, written in the same way.
  std::size_t next(std::string_view written) {
    if (next_ == keys_.size() || keys_[next_] != written) next_ = place_of(written);
    return next_++;
  }
  void begin_line() { next_ = 0; }

 private:
  std::size_t place_of(std::string_view written);
  std::size_t add(std::string name, std::string_view written);

  std::vector<std::string> keys_;  // as the last line wrote them, perhaps with escapes
  std::unordered_map<std::string, std::size_t> places_;
  std::size_t next_ = 0;  // the likely place of the line's next key
};

}  // namespace ddp::tables
