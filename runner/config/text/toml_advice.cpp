#include "config/text/toml_advice.h"

#include <algorithm>
#include <cctype>

namespace ddp::config {
namespace {

constexpr std::string_view kBlanks = " \t\r";

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

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

// Returns the number of an earlier line with the same key in the same section; 0: none.
std::uint32_t line_of_key(const Source& source, std::uint32_t number, std::string_view key) {
  for (std::uint32_t i = number - 1; i > 0; --i) {
    const std::string_view line = without_blanks(source.line(i));
    if (line.starts_with('[')) return 0;
    if (defines(line, key)) return i;
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
    return {in_quotes(name) + " is given twice" + of_lines(line_of_key(source, number, name), number),
            "write all its keys in one place"};
  }
  const std::string_view before = raw.substr(0, bytes_before(raw, column));
  const std::string_view key = last_key(before.substr(0, before.rfind('=')));
  return {in_quotes(key) + " is given twice" + of_lines(line_of_key(source, number, key), number), "keep one of them"};
}

// Returns the word without quotes at the place: from the last "=", bracket or comma to the next one.
std::string_view word_at(std::string_view line, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : line.find_last_of("=,[{", at - 1);
  line.remove_prefix(before == std::string_view::npos ? 0 : before + 1);
  return without_blanks(line.substr(0, line.find_first_of(",]}#")));
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_numeric(std::string_view word) {
  return word.find_first_not_of("0123456789+-._eE") == std::string_view::npos &&
         has("+-.0123456789", word.substr(0, 1));
}

// Returns a number as TOML takes it: "0.5" for ".5", "3" for "03".
std::string toml_number(std::string_view word) {
  std::string number(word);
  const std::size_t sign = number.starts_with('+') || number.starts_with('-') ? 1 : 0;
  while (number.size() > sign + 1 && number[sign] == '0' &&
         std::isdigit(static_cast<unsigned char>(number[sign + 1]))) {
    number.erase(sign, 1);
  }
  const std::size_t point = number.find('.');
  if (point == std::string::npos) return number;
  if (point + 1 == number.size() || !std::isdigit(static_cast<unsigned char>(number[point + 1]))) {
    number.insert(point + 1, "0");
  }
  if (point == sign) number.insert(point, "0");
  return number;
}

// Returns the parser's words without its "Error while parsing boolean: ".
std::string not_toml(std::string_view words) {
  const std::size_t colon = words.starts_with("Error while parsing") ? words.find(": ") : std::string_view::npos;
  return "not TOML: " + std::string(colon == std::string_view::npos ? words : words.substr(colon + 2));
}

// Explains a value that TOML does not take; `words` stay if the value is not known.
TomlAdvice wrong_value(std::string_view word, std::string_view words) {
  std::string small(word);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  const TomlAdvice unknown{.what = not_toml(words), .remedy = ""};
  const bool is_open = word.empty() || has(word, "\"") || has(word, "'") || has(word, "=");
  if (is_open) return unknown;
  const std::string what = "not TOML: " + in_quotes(word) + " is not a value";
  if (is_one_of(small, {"true", "false"})) return {what, "write true or false in lower case: " + small};
  if (is_one_of(small, {"yes", "on", "no", "off"})) return {what, "write true or false"};
  if (is_one_of(small, {"none", "null", "nil", "~"})) return {what, "TOML has no null: leave the key out"};
  if (!is_numeric(word)) return {what, "text needs quotes: " + in_quotes(word)};
  const std::string number = toml_number(word);
  return number == word ? unknown : TomlAdvice{what, "write " + number};
}

}  // namespace

TomlAdvice toml_advice(const Source& source, std::uint32_t line, std::uint32_t column, std::string_view words) {
  if (line == 0) return {.what = not_toml(words), .remedy = ""};
  if (has(words, "redefine")) return given_twice(source, line, column, words);
  const std::string_view raw = source.line(line);
  const std::size_t at = bytes_before(raw, column);
  const std::string_view before = raw.substr(0, at);
  TomlAdvice advice{.what = not_toml(words), .remedy = ""};
  if (has(words, "dangling comma")) {
    advice.remedy = "leave out the comma before \"}\"";
  } else if (has(words, "inline table") && has(words, "'\\n'")) {
    const std::string key(last_key(before.substr(0, before.find('='))));
    advice.remedy = "an inline table must be on one line: write its keys on lines of their own below [" + key + "]";
  } else if (has(words, "expected '='")) {
    advice.remedy = has(words, "saw ':'") ? "TOML writes key = value" : "a line is key = value, or a [section]";
  } else if (has(words, "expected value, saw")) {
    advice.remedy = "give a value after \"=\", or leave the key out";
  } else if (has(words, "escape") || has(words, "unicode scalar")) {
    advice.remedy = "write '…' with single quotes, in which a backslash stands for itself";
  } else if (has(words, "string")) {
    advice.remedy = at >= raw.size() ? "a text ends with the quote that begins it, on the same line" : "";
  } else if (has(words, "table header")) {
    advice.remedy = "a section is one name in brackets: [validation]";
  } else if (has(words, "comment or whitespace")) {
    advice.remedy = "a line ends after its value; a comment begins with #, and numbers have no comma";
  } else if (has(words, "expected comma")) {
    advice.remedy = "put a comma between two values";
  } else {
    return wrong_value(word_at(raw, at), words);
  }
  return advice;
}

}  // namespace ddp::config
