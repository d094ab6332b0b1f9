#include "config/text/toml_advice.h"

#include <algorithm>
#include <optional>

#include "config/text/blanks.h"
#include "config/text/typography.h"

namespace ddp::config {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Returns the number of bytes of the characters before the column.
std::size_t bytes_before(std::string_view line, std::uint32_t column) {
  std::size_t at = 0;
  for (std::uint32_t i = 1; i < column && at < line.size(); ++i) {
    ++at;
    while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

// Returns the last key before an "=", such as "split" of "test = { split".
std::string_view last_key(std::string_view before_equals) {
  const std::size_t begin = before_equals.find_last_of(",{");
  std::string_view key =
      without_blanks(begin == std::string_view::npos ? before_equals : before_equals.substr(begin + 1));
  if (key.size() > 1 && key.front() == '"' && key.ends_with('"')) key = key.substr(1, key.size() - 2);
  return key;
}

// Does the line define this key, or a dotted key below it?
bool defines(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return false;
  const std::string_view rest = without_blanks(line.substr(key.size()));
  return rest.starts_with('=') || rest.starts_with('.');
}

// Returns the number of an earlier line with the same table; 0: none.
std::uint32_t line_of_table(const Source& source, std::uint32_t number, std::string_view name) {
  bool at_top = true;
  for (std::uint32_t i = 1; i < number; ++i) {
    const std::string_view line = without_blanks(source.line(i));
    if (line.starts_with('[')) {
      if (without_blanks(line.substr(1, line.find(']') - 1)) == name) return i;
      at_top = false;
    } else if (at_top && defines(line, name)) {
      return i;
    }
  }
  return 0;
}

// Returns how many braces of inline tables the text opens and does not close.
std::ptrdiff_t open_braces(std::string_view text) {
  return std::count(text.begin(), text.end(), '{') - std::count(text.begin(), text.end(), '}');
}

// Returns the number of an earlier line with the same key in the same table; 0: none. `before`: the text of the line
// `number` before the key.
std::uint32_t line_of_key(const Source& source, std::uint32_t number, std::string_view before, std::string_view key) {
  std::ptrdiff_t open = open_braces(before);
  for (std::uint32_t i = number - 1; i > 0 && open <= 0; --i) {
    const std::string_view line = without_blanks(source.line(i));
    if (line.starts_with('[')) return 0;
    open += open_braces(line);
    if (open == 0 && defines(line, key)) return i;
  }
  return 0;
}

std::string of_lines(std::uint32_t first, std::uint32_t second) {
  return first == 0 ? "" : ": lines " + std::to_string(first) + " and " + std::to_string(second);
}

TomlAdvice given_twice(const Source& source, std::uint32_t number, std::uint32_t column, std::string_view words) {
  const std::string_view raw = source.line(number);
  const std::string_view line = without_blanks(raw);
  if (has(words, "table header") && line.starts_with('[')) {
    const std::string_view name = without_blanks(line.substr(1, line.find(']') - 1));
    return {in_quotes(name) + " is given twice" + of_lines(line_of_table(source, number, name), number),
            "write all its keys in one place"};
  }
  if (has(words, "dotted")) {
    const std::string_view name = without_blanks(line.substr(0, line.find_first_of(".=")));
    return {in_quotes(name) + " is given twice" + of_lines(line_of_key(source, number, "", name), number),
            "write all its keys in one place"};
  }
  const std::string_view before = raw.substr(0, bytes_before(raw, column));
  const std::string_view key = last_key(before.substr(0, before.rfind('=')));
  return {in_quotes(key) + " is given twice" + of_lines(line_of_key(source, number, before, key), number),
          "keep one of them"};
}

constexpr const char* kMissingQuote = "a quotation mark is missing: a text ends with the quote that begins it";

// Is the number of quotation marks in the line odd?
bool has_open_quote(std::string_view line) { return std::count(line.begin(), line.end(), '"') % 2 == 1; }

// Returns the remedy for characters that follow a value on its line.
std::string after_value(std::string_view line, std::size_t at) {
  const std::string list = at < line.size() && line[at] == ',' ? list_advice(line) : "";
  if (!list.empty()) return list;
  if (has_open_quote(line)) return kMissingQuote;
  return "a line ends after its value; a comment begins with #, and numbers have no comma";
}

// Returns the remedy for a text in quotes that breaks off at the place.
std::string open_text(std::string_view line, std::size_t at) {
  const std::string plain = with_keyboard_characters(without_blanks(line));
  if (plain != without_blanks(line)) return "write straight quotes: " + plain;
  return at >= line.size() ? "a text ends with the quote that begins it, on the same line" : "";
}

// Returns the remedy for a line that begins with something else than a key; empty: it begins with a key.
std::string no_key(std::string_view line) {
  for (const char* comment : {"//", "--", ";"}) {
    if (line.starts_with(comment)) return "a comment begins with #";
  }
  return begins_with_typographic_quote(line) ? "write straight quotes: " + with_keyboard_characters(line) : "";
}

// Returns the remedy for a key without "=".
std::string without_equals(const Source& source, std::string_view words) {
  if (!source.is_file()) return "--set takes key=value, such as --set optimizer.lr=0.1";
  return has(words, "saw ':'") ? "TOML writes key = value" : "a line is key = value, or a [section]";
}

std::string without_comma(std::string_view line, std::string_view words) {
  if (has_open_quote(line)) return kMissingQuote;
  return has(words, "']'") ? "put a comma between two values, and \"]\" after the last one"
                           : "put a comma between two values";
}

// Returns the remedy for the parser's error at this byte of the line; nothing: a value is wrong.
std::optional<std::string> remedy_at(const Source& source, std::string_view line, std::size_t at,
                                     std::string_view words) {
  if (std::string remedy = no_key(without_blanks(line)); !remedy.empty()) return remedy;
  if (has(words, "expected '='")) return without_equals(source, words);
  if (has(words, "expected value, saw")) return "give a value after \"=\", or leave the key out";
  if (has(words, "control characters")) return open_text(line, at);
  if (has(words, "escape") || has(words, "unicode scalar")) {
    return "write '…' with single quotes, in which a backslash stands for itself";
  }
  if (has(words, "string")) return open_text(line, at);
  if (has(words, "table header")) return "a section is one name in brackets: [validation]";
  if (has(words, "comment or whitespace")) return after_value(line, at);
  if (has(words, "expected comma")) return without_comma(line, words);
  return std::nullopt;
}

}  // namespace

TomlAdvice toml_advice(const Source& source, std::uint32_t line, std::uint32_t column, std::string_view words) {
  if (line == 0) return {.what = parser_words(words), .remedy = ""};
  if (has(words, "redefine")) return given_twice(source, line, column, words);
  const std::string_view raw = source.line(line);
  const std::size_t at = bytes_before(raw, column);
  const auto remedy = remedy_at(source, raw, at, words);
  return remedy ? TomlAdvice{parser_words(words), *remedy} : value_advice(source, raw, at, words);
}

}  // namespace ddp::config
