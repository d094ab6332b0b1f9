#include "config/text/value_advice.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/own_command.h"
#include "config/text/blanks.h"
#include "config/text/typography.h"

namespace ddp::config {
namespace {

using Texts = std::vector<std::string>;

bool is_ascii_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_numeric(std::string_view word) {
  const bool begins = std::string_view("+-.0123456789").find(word.substr(0, 1)) != std::string_view::npos;
  return !word.empty() && begins && word.find_first_not_of("0123456789+-._eE") == std::string_view::npos;
}

// Returns the word without quotes at the place: from the last "=", bracket or comma to the next one.
std::string_view word_at(std::string_view line, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : line.find_last_of("=,[{", at - 1);
  line.remove_prefix(before == std::string_view::npos ? 0 : before + 1);
  return without_blanks(line.substr(0, line.find_first_of(",]}#")));
}

// Returns a number as TOML takes it: "0.5" for ".5", "3" for "03".
std::string toml_number(std::string_view word) {
  std::string number(word);
  const std::size_t sign = number.starts_with('+') || number.starts_with('-') ? 1 : 0;
  while (number.size() > sign + 1 && number[sign] == '0' && is_ascii_digit(number[sign + 1])) number.erase(sign, 1);
  const std::size_t point = number.find('.');
  if (point == std::string::npos) return number;
  if (point + 1 == number.size() || !is_ascii_digit(number[point + 1])) number.insert(point + 1, "0");
  if (point == sign) number.insert(point, "0");
  return number;
}

// Returns the remedy for a text without quotes. From a setting of the command line the shell has removed them.
std::string quotes_for(const Source& source, std::string_view word) {
  const std::string remedy = "text needs quotes: " + in_quotes(word);
  if (source.is_file()) return remedy;
  const std::string_view setting = source.text();
  const std::size_t value = std::min(setting.find('='), setting.size() - 1) + 1;
  const std::string quoted = with_quoted_words(setting.substr(value));
  if (quoted.empty()) return remedy + ", and single quotes around the setting keep them from the shell";
  return remedy + ", and the shell removes them outside of single quotes: --set " +
         shell_word(std::string(setting.substr(0, value)) + quoted);
}

// Returns what to write in place of a value with characters or brackets that TOML does not know; empty: it has none.
std::string replaced(std::string_view line, std::string_view word) {
  if (begins_with_typographic_quote(word)) {
    return "write straight quotes: " + with_keyboard_characters(without_blanks(line));
  }
  const std::string plain = with_keyboard_characters(word);
  if (plain != word && is_numeric(plain)) return "write the minus sign of the keyboard: " + plain;
  const std::size_t open = line.find('(');
  const std::size_t close = line.find(')', std::min(open, line.size()));
  if (word.starts_with('(') && close != std::string_view::npos) {
    return "a list has brackets: [" + std::string(line.substr(open + 1, close - open - 1)) + "]";
  }
  if (word.size() < 2 || !word.ends_with(';')) return "";
  return "write no semicolon: " + std::string(word.substr(0, word.size() - 1));
}

// Returns the values of "lr = 0.1, 0.2" without its comment.
Texts values_of_line(std::string_view line, std::size_t equals) {
  std::string_view rest = line.substr(equals + 1);
  rest = rest.substr(0, rest.find('#'));
  Texts values;
  while (true) {
    const std::size_t comma = rest.find(',');
    values.emplace_back(without_blanks(rest.substr(0, comma)));
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

bool is_value(std::string_view text) {
  const bool is_text = text.size() > 1 && (text.front() == '"' || text.front() == '\'') && text.ends_with(text.front());
  return is_text || is_numeric(text) || is_one_of(text, {"true", "false"});
}

bool are_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_ascii_digit);
}

// Is this a number whose commas separate thousands, such as "1,000"?
bool are_thousands(const Texts& parts) {
  const bool begins = parts.front().size() <= 3 && are_digits(parts.front()) && parts.front().front() != '0';
  return begins && std::all_of(parts.begin() + 1, parts.end(),
                               [](const auto& part) { return part.size() == 3 && are_digits(part); });
}

std::string joined_texts(const Texts& texts, const std::string& between) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : between) + text;
  return joined;
}

}  // namespace

std::string with_quoted_words(std::string_view list) {
  if (!list.starts_with('[') || list.find_first_of("\"'{=") != std::string_view::npos) return "";
  std::string quoted;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of("[], \t"), list.size());
    const std::string_view word = list.substr(0, end);
    const bool is_bare = !word.empty() && !is_numeric(word) && !is_one_of(word, {"true", "false"});
    quoted += is_bare ? in_quotes(word) : std::string(word);
    if (end < list.size()) quoted += list[end];
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return quoted;
}

std::string parser_words(std::string_view words) {
  const std::size_t colon = words.starts_with("Error while parsing") ? words.find(": ") : std::string_view::npos;
  return "not TOML: " + std::string(colon == std::string_view::npos ? words : words.substr(colon + 2));
}

TomlAdvice value_advice(const Source& source, std::string_view line, std::size_t at, std::string_view words) {
  const std::string_view word = word_at(line, at);
  const TomlAdvice unknown{.what = parser_words(words), .remedy = ""};
  if (line.find("==") != std::string_view::npos) return {unknown.what, "write one \"=\""};
  const std::string what = "not TOML: " + in_quotes(word) + " is not a value";
  if (const std::string written = replaced(line, word); !written.empty()) return {what, written};
  if (word.empty() || word.find_first_of("\"'=") != std::string_view::npos) return unknown;
  std::string small(word);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  if (is_one_of(small, {"true", "false"})) return {what, "write true or false in lower case: " + small};
  if (is_one_of(small, {"yes", "on", "no", "off"})) return {what, "write true or false"};
  if (is_one_of(small, {"none", "null", "nil", "~"})) return {what, "TOML has no null: leave the key out"};
  if (!is_numeric(word)) return {what, quotes_for(source, word)};
  const std::string number = toml_number(word);
  return number == word ? unknown : TomlAdvice{what, "write " + number};
}

std::string list_advice(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || line.find_first_of("[{(") != std::string_view::npos) return "";
  const Texts values = values_of_line(line, equals);
  if (values.size() < 2 || !std::all_of(values.begin(), values.end(), is_value)) return "";
  const std::string key(without_blanks(line.substr(0, equals)));
  const bool has_blank = line.find(", ") != std::string_view::npos;
  if (!has_blank && are_thousands(values)) return "numbers have no comma: " + key + " = " + joined_texts(values, "");
  const std::string list = "a list has brackets: " + key + " = [" + joined_texts(values, ", ") + "]";
  const bool is_decimal = !has_blank && values.size() == 2 && are_digits(values[1]) && is_numeric(values[0]);
  if (!is_decimal || values[0].find('.') != std::string::npos) return list;
  return "a number has a decimal point: " + key + " = " + joined_texts(values, ".") + "; " + list;
}

}  // namespace ddp::config
