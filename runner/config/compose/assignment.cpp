#include <algorithm>
#include <cstdlib>
#include <regex>

#include "base/own_command.h"
#include "config/compose/compose.h"
#include "config/text/blanks.h"
#include "config/text/toml_reader.h"
#include "config/text/typography.h"

namespace ddp::config {
namespace {

// A value that begins like a list, a table or a quoted text is TOML; any other value is a bare word.
bool is_bare_word(std::string_view value) {
  return !value.empty() && std::string_view("[{\"'").find(value.front()) == std::string_view::npos;
}

// Returns the number if people write it so but TOML does not: ".001", "1.", "-.5e-3".
std::optional<double> number_of(std::string_view word) {
  static const std::regex kNumber(R"([+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?)");
  const std::string text(word);
  if (!std::regex_match(text, kNumber)) return std::nullopt;
  return std::strtod(text.c_str(), nullptr);
}

// Parses `key=word`: the tables of the key, with the word as the value: a number if it is one, else the text.
std::optional<Node> with_bare_word(const std::shared_ptr<const Source>& source, std::string_view key,
                                   std::string_view word, Problems& problems) {
  std::optional<Node> table = parse_toml(source, std::string(key) + "=0", problems);
  if (!table) return std::nullopt;
  Node* leaf = &*table;
  while (leaf->is_table() && !leaf->entries.empty()) leaf = &leaf->entries.begin()->second;
  const std::optional<double> number = number_of(word);
  leaf->kind = number ? Kind::number : Kind::text;
  leaf->scalar = number ? Value(*number) : Value(std::string(word));
  leaf->place.column = static_cast<std::uint32_t>(word.data() - source->text().data()) + 1;
  leaf->place.width = static_cast<std::uint32_t>(word.size());
  return table;
}

// assignment_of_option() writes "--name name=\"mine\""; no key begins with "--".
std::shared_ptr<const Source> source_of(int number, const std::string& text) {
  const std::size_t blank = text.find(' ');
  if (!text.starts_with("--") || blank == std::string::npos) return Source::assignment(number, text);
  return Source::option(number, text.substr(0, blank), text.substr(blank + 1));
}

// Returns the mistake of a text that is no assignment, such as "epochs:5"; else nothing.
std::optional<WrongSetting> not_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string_view key = without_blanks(std::string_view(text).substr(0, equals));
  const bool has_key = !key.empty() && key.front() != '#' && text.find('\n') == std::string::npos;
  if (equals != std::string::npos && has_key) return std::nullopt;
  WrongSetting wrong{"not an assignment", "--set takes key=value, such as --set optimizer.lr=0.1"};
  const std::size_t colon = text.find(':');
  if (has_key && colon != std::string::npos && colon > 0 && colon + 1 < text.size()) {
    const std::string_view value = without_blanks(std::string_view(text).substr(colon + 1));
    wrong.remedy = "write --set " + shell_word(text.substr(0, colon) + "=" + std::string(value));
  }
  return wrong;
}

// Returns the mistake of an assignment with the value "", or "=5"; else nothing.
std::optional<WrongSetting> mistake_of_value(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string key(without_blanks(std::string_view(text).substr(0, equals)));
  const std::string_view value = without_blanks(std::string_view(text).substr(equals + 1));
  if (value.empty()) return WrongSetting{"the value is missing", "write an empty text as " + shell_word(key + "=\"\"")};
  if (begins_with_typographic_quote(value)) {
    return WrongSetting{"the value has typographic quotes",
                        "write straight quotes: --set " + shell_word(key + "=" + with_keyboard_characters(value))};
  }
  if (value.front() != '=' || value.size() == 1) return std::nullopt;
  return WrongSetting{"one \"=\" is too many",
                      "write --set " + shell_word(key + "=" + std::string(without_blanks(value.substr(1))))};
}

}  // namespace

std::optional<WrongSetting> hydra_override(const std::string& text) {
  if (text.starts_with('+')) {
    const std::string setting = text.substr(std::min(text.find_first_not_of('+'), text.size()));
    return WrongSetting{"a setting begins with its key, not with \"+\"",
                        "a key need not be in the file: --set " + shell_word(setting)};
  }
  if (!text.starts_with('~')) return std::nullopt;
  const std::string key = text.substr(1, text.find('=') - 1);
  return WrongSetting{"a setting cannot remove a key",
                      "give the key its default, which `" + own_command("schema") + "` prints: --set " + key + "=…"};
}

std::string assignment_of_option(const std::string& name, const std::string& key, const std::string& text) {
  return name + " " + key + "=" + Value(text).dump(-1, ' ', false, Value::error_handler_t::replace);
}

std::optional<Node> parse_assignment(int number, const std::string& text, Problems& problems) {
  const auto source = source_of(number, text);
  const std::string_view line = source->text();
  const SourceRange place{.source = source, .line = 1, .column = 1};
  for (const auto& find_mistake : {hydra_override, not_assignment, mistake_of_value}) {
    if (const auto wrong = find_mistake(source->text())) {
      problems.add(place, wrong->what, wrong->remedy);
      return std::nullopt;
    }
  }
  const std::size_t equals = line.find('=');
  const std::string_view value = without_blanks(line.substr(equals + 1));
  Problems not_toml;
  std::optional<Node> table = parse_toml(source, line, not_toml);
  if (!table) {
    table = is_bare_word(value) ? with_bare_word(source, line.substr(0, equals), value, problems)
                                : parse_toml(source, line, problems);
  }
  if (table && table->find("extends")) {
    problems.add(place, "\"extends\" belongs in a file, not in --set");
    return std::nullopt;
  }
  return table;
}

}  // namespace ddp::config
