#include "config/text/toml.h"

#include <algorithm>
#include <cmath>

// Its parser asserts what a malformed file, such as "[!]", makes false, and then reports the mistake.
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

namespace ddp::config {
namespace {

constexpr int kBrackets = 32;
constexpr int kKeyParts = 16;
constexpr const char* kForm =
    "TOML: key = value, or [section]; a value is a number, true, false, \"text\" in quotes, [a list] or { a table }";

// Returns the end of the string whose first quote is at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string triple(3, quote);
  const bool multiline = text.substr(at, 3) == triple;
  for (at += multiline ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (multiline && text.substr(at, 3) == triple) {
      return std::min(text.find_first_not_of(quote, at), text.size());  // up to two quotes may precede the end
    } else if (!multiline && text[at] == '\n') {
      return at;  // not closed: not TOML
    } else if (!multiline && text[at] == quote) {
      return at + 1;
    }
  }
  return at;
}

struct TooDeep {
  std::size_t at = 0;
  std::string what;
};

// Finds the first nesting that is too deep for toml++: walking or freeing such a tree overflows the stack. toml++
// limits brackets but not keys, `a.a.a.… = 1`.
std::optional<TooDeep> find_too_deep(std::string_view text) {
  int brackets = 0;
  int dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '[' || c == '{') ++brackets;
    if ((c == ']' || c == '}') && brackets > 0) --brackets;
    if (c == '.') ++dots;
    if (c == '\n' || c == ',' || c == '=' || c == '[' || c == '{') dots = 0;
    if (brackets > kBrackets) return TooDeep{at, "brackets are nested deeper than " + std::to_string(kBrackets)};
    if (dots >= kKeyParts) return TooDeep{at, "the key has more than " + std::to_string(kKeyParts) + " parts"};
    ++at;
  }
  return {};
}

// The place of a byte. Columns count characters.
SourceRange place_of(const std::shared_ptr<const Source>& source, std::string_view before) {
  const std::string_view line = before.substr(before.rfind('\n') + 1);
  const auto characters =
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return {.source = source,
          .line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1),
          .column = static_cast<std::uint32_t>(characters + 1)};
}

// May a key with this name be written without quotes?
bool is_bare_key(std::string_view name) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !name.empty() && name.find_first_not_of(kCharacters) == std::string_view::npos;
}

SourceRange place_of(const std::shared_ptr<const Source>& source, const toml::source_region& region) {
  SourceRange place{.source = source, .line = region.begin.line, .column = region.begin.column};
  const bool one_line = region.end.line == region.begin.line;
  if (one_line && region.end.column > region.begin.column) place.width = region.end.column - region.begin.column;
  return place;
}

Node convert(const std::shared_ptr<const Source>& source, const toml::node& from) {
  Node node{.kind = Type::date, .place = place_of(source, from.source())};
  node.key = node.place;
  if (const toml::table* table = from.as_table()) {
    node.kind = Type::table;
    for (const auto& [key, value] : *table) {
      Node& entry = node.entries.emplace(std::string(key.str()), convert(source, value)).first->second;
      entry.key = place_of(source, key.source());
    }
  } else if (const toml::array* list = from.as_array()) {
    node.kind = Type::list;
    for (const toml::node& item : *list) node.items.push_back(convert(source, item));
  } else if (const auto* boolean = from.as_boolean()) {
    node.kind = Type::boolean;
    node.scalar = boolean->get();
  } else if (const auto* integer = from.as_integer()) {
    node.kind = Type::integer;
    node.scalar = integer->get();
  } else if (const auto* number = from.as_floating_point()) {
    node.kind = Type::number;
    node.scalar = number->get();
  } else if (const auto* text = from.as_string()) {
    node.kind = Type::text;
    node.scalar = text->get();
  }
  return node;
}

// Returns the parser's words without its "Error while parsing boolean: ".
std::string parser_words(std::string_view words) {
  const std::size_t colon = words.starts_with("Error while parsing") ? words.find(": ") : std::string_view::npos;
  return "not TOML: " + std::string(colon == std::string_view::npos ? words : words.substr(colon + 2));
}

// A text in TOML's quotes. JSON's escapes match TOML's, except for DEL.
std::string quoted(const std::string& plain) {
  const std::string json = Value(plain).dump(-1, ' ', false, Value::error_handler_t::replace);
  std::string escaped;
  for (char c : json) escaped += c == '\x7F' ? "\\u007F" : std::string(1, c);
  return escaped;
}

std::string written_key(const std::string& name) { return is_bare_key(name) ? name : quoted(name); }

std::string written_table(const Value& from) {
  std::string entries;
  for (const auto& [name, entry] : from.items()) {
    entries += (entries.empty() ? " " : ", ") + written_key(name) + " = " + to_toml_value(entry);
  }
  return entries.empty() ? "{}" : "{" + entries + " }";
}

// Tables in a list get their own lines.
std::string written_list(const Value& from) {
  const bool of_tables = !from.empty() && from.front().is_object();
  std::string items;
  for (const Value& item : from) {
    if (of_tables) {
      items += "\n  " + to_toml_value(item) + ",";
    } else {
      items += (items.empty() ? "" : ", ") + to_toml_value(item);
    }
  }
  return "[" + items + (of_tables ? "\n]" : "]");
}

}  // namespace

std::optional<Node> parse_toml(const std::shared_ptr<const Source>& source, std::string_view text, Mistakes& mistakes) {
  if (const auto too_deep = find_too_deep(text)) {
    mistakes.add(place_of(source, text.substr(0, too_deep->at)), too_deep->what);
    return std::nullopt;
  }
  try {
    return convert(source, toml::parse(text));
  } catch (const toml::parse_error& error) {
    const std::string words = parser_words(error.description());
    const bool is_twice = words.find("redefine") != std::string::npos;
    mistakes.add(place_of(source, error.source()), words, is_twice ? "" : kForm);
    return std::nullopt;
  }
}

// Numbers as nlohmann prints them: the shortest digits that read back to the same value.
std::string to_toml_value(const Value& from) {
  if (from.is_string()) return quoted(from.get<std::string>());
  if (from.is_array()) return written_list(from);
  if (from.is_object()) return written_table(from);
  return from.dump();
}

std::string to_toml(const Value& written) {
  std::string top;
  std::string sections;
  for (const auto& [name, entry] : written.items()) {
    if (!entry.is_object()) {
      top += written_key(name) + " = " + to_toml_value(entry) + "\n";
    } else if (entry.size() == 1 && entry.contains("name")) {
      top += written_key(name) + " = " + to_toml_value(entry["name"]) + "\n";
    } else {
      sections += "\n[" + written_key(name) + "]\n";
      for (const auto& [inner, of_inner] : entry.items())
        sections += written_key(inner) + " = " + to_toml_value(of_inner) + "\n";
    }
  }
  return top + sections;
}

const Node* Node::find(const std::string& name) const {
  const auto it = entries.find(name);
  return it == entries.end() ? nullptr : &it->second;
}

const Node* Node::at_path(std::string_view path) const {
  const Node* node = this;
  while (node) {
    const std::size_t dot = path.find('.');
    node = node->find(std::string(path.substr(0, dot)));
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return node;
}

std::optional<std::string> Node::text() const {
  if (kind != Type::text) return std::nullopt;
  return scalar.get<std::string>();
}

std::vector<const std::pair<const std::string, Node>*> in_file_order(const Node& table) {
  std::vector<const std::pair<const std::string, Node>*> entries;
  for (const auto& entry : table.entries) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto* a, const auto* b) { return before(a->second.key, b->second.key); });
  return entries;
}

Node as_typed(Node value) {
  const bool is_other = value.kind == Type::text || value.kind == Type::list || value.is_table();
  if (is_other || !value.place.source || value.place.source->is_file()) return value;
  value.kind = Type::text;
  value.scalar = std::string(text_at(value.place));
  return value;
}

Value to_value(const Node& node) {
  if (node.kind == Type::list) {
    Value list = Value::array();
    for (const Node& item : node.items) list.push_back(to_value(item));
    return list;
  }
  if (!node.is_table()) return node.scalar;
  Value table = Value::object();
  for (const auto* entry : in_file_order(node)) table[entry->first] = to_value(entry->second);
  return table;
}

std::string shown(const Node& node) {
  switch (node.kind) {
    case Type::boolean:
    case Type::integer:
      return node.scalar.dump();
    case Type::number: {
      const double number = node.scalar.get<double>();
      if (std::isnan(number)) return "nan";
      if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
      return node.scalar.dump();
    }
    case Type::text:
      return "the text " + in_quotes(node.scalar.get<std::string>());
    case Type::date:
      return "a date or time";
    case Type::list:
      return "a list";
    case Type::table:
      return "a table";
  }
  return "";
}

}  // namespace ddp::config
