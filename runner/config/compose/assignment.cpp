#include <cstdlib>
#include <regex>

#include "config/compose/compose.h"
#include "config/text/toml_reader.h"

namespace ddp::config {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return text.substr(text.size());
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

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

}  // namespace

std::string assignment_of_option(const std::string& name, const std::string& key, const std::string& text) {
  return name + " " + key + "=" + Value(text).dump(-1, ' ', false, Value::error_handler_t::replace);
}

std::optional<Node> parse_assignment(int number, const std::string& text, Problems& problems) {
  const auto source = source_of(number, text);
  const std::string_view line = source->text();
  const std::size_t equals = line.find('=');
  const SourceRange place{.source = source, .line = 1, .column = 1};
  const std::string_view key = trimmed(line.substr(0, equals));
  if (equals == std::string_view::npos || key.empty() || key.front() == '#' || line.find('\n') != line.npos) {
    problems.add(place, "not an assignment", "--set takes key=value, such as --set optimizer.lr=0.1");
    return std::nullopt;
  }
  const std::string_view value = trimmed(line.substr(equals + 1));
  if (value.empty()) {
    problems.add(place, "the value is missing", "write an empty text as \"\"");
    return std::nullopt;
  }
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
