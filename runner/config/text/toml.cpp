#include "config/text/toml.h"

#include <algorithm>
#include <cctype>
#include <cmath>

// Its parser asserts what a malformed file, such as "[!]", makes false, and then reports the mistake.
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

namespace ddp::config {
namespace {

constexpr int kBrackets = 32;
constexpr int kKeyParts = 16;

// Scans TOML text outside of strings and comments, and counts brackets and the dots of each key.
class NestingScan {
 public:
  explicit NestingScan(std::string_view text) : text_(text) {}

  // Returns what is nested too deep at position(), "" if nothing is.
  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      count(c);
      if (brackets_ > kBrackets) return "brackets are nested deeper than " + std::to_string(kBrackets);
      if (dots_ >= kKeyParts) return "the key has more than " + std::to_string(kKeyParts) + " parts";
      ++at_;
    }
    return "";
  }

  std::size_t position() const { return at_; }

 private:
  void count(char c) {
    if (c == '[' || c == '{') ++brackets_;
    if ((c == ']' || c == '}') && brackets_ > 0) --brackets_;
    if (c == '.') ++dots_;
    if (c == '\n' || c == ',' || c == '=' || c == '[' || c == '{') dots_ = 0;
  }

  void skip_string(char quote) {
    const std::string triple(3, quote);
    const bool multiline = text_.substr(at_, 3) == triple;
    at_ += multiline ? 3 : 1;
    while (at_ < text_.size()) {
      if (text_[at_] == '\\' && quote == '"') {
        at_ += 2;
      } else if (multiline && text_.substr(at_, 3) == triple) {
        at_ += 3;
        while (at_ < text_.size() && text_[at_] == quote) ++at_;  // up to two quotes may precede the end
        return;
      } else if (!multiline && text_[at_] == '\n') {
        return;  // not closed: not TOML
      } else if (!multiline && text_[at_] == quote) {
        ++at_;
        return;
      } else {
        ++at_;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int brackets_ = 0;
  int dots_ = 0;
};

struct TooDeep {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::string what = {};
};

// Finds the first nesting that is too deep for toml++: walking or freeing such a tree overflows the stack. toml++
// limits brackets but not keys, `a.a.a.… = 1`.
std::optional<TooDeep> find_too_deep(std::string_view text) {
  NestingScan scan(text);
  TooDeep found{.what = scan.run()};
  if (found.what.empty()) return std::nullopt;
  for (char c : text.substr(0, scan.position())) {
    const bool continues_character = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (c == '\n') {
      ++found.line;
      found.column = 1;
    } else if (!continues_character) {
      ++found.column;
    }
  }
  return found;
}

// May a key with this name be written without quotes?
bool is_bare_key(std::string_view name) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !name.empty() && name.find_first_not_of(kCharacters) == std::string_view::npos;
}

// toml++'s switch for TOML 1.1 also admits drafts that TOML dropped: other characters in keys without quotes, and
// hexadecimal numbers with a fraction.
struct Draft {
  SourceRange place;
  const char* what;
};

class Converter {
 public:
  explicit Converter(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  Node convert(const toml::node& from) const {
    Node node{.place = place(from.source())};
    node.key = node.place;
    if (const toml::table* table = from.as_table()) {
      for (const auto& [key, value] : *table) {
        require_quotes(key);
        Node entry = convert(value);
        entry.key = place(key.source());
        node.entries.emplace(std::string(key.str()), std::move(entry));
      }
    } else if (const toml::array* list = from.as_array()) {
      node.kind = Kind::list;
      for (const toml::node& item : *list) node.items.push_back(convert(item));
    } else {
      convert_scalar(from, node);
    }
    return node;
  }

  SourceRange place(const toml::source_region& region) const {
    SourceRange place{.source = source_, .line = region.begin.line, .column = region.begin.column};
    const bool one_line = region.end.line == region.begin.line;
    if (one_line && region.end.column > region.begin.column) place.width = region.end.column - region.begin.column;
    return place;
  }

 private:
  void require_quotes(const toml::key& key) const {
    if (is_bare_key(key.str())) return;
    const SourceRange at = place(key.source());
    const std::string_view written = text_at(at);
    if (written.starts_with('"') || written.starts_with('\'')) return;
    throw Draft{at,
                "not TOML: a key consists of the letters A to Z and a to z, digits, \"_\" and \"-\", or has quotes"};
  }

  static void refuse_hexadecimal(const SourceRange& at) {
    if (text_at(at).find_first_of("xX") == std::string_view::npos) return;
    throw Draft{at, "not TOML: a hexadecimal number is a whole number"};
  }

  static void convert_scalar(const toml::node& from, Node& node) {
    if (const auto* boolean = from.as_boolean()) {
      node.kind = Kind::boolean;
      node.scalar = boolean->get();
    } else if (const auto* integer = from.as_integer()) {
      node.kind = Kind::integer;
      node.scalar = integer->get();
    } else if (const auto* number = from.as_floating_point()) {
      node.kind = Kind::number;
      node.scalar = number->get();
      refuse_hexadecimal(node.place);
    } else if (const auto* text = from.as_string()) {
      node.kind = Kind::text;
      node.scalar = text->get();
    } else {
      node.kind = Kind::date;
    }
  }

  std::shared_ptr<const Source> source_;
};

// Returns the word without quotes at the place: from the last "=", bracket or comma to the next one.
std::string_view word_at(std::string_view line, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : line.find_last_of("=,[{", at - 1);
  line.remove_prefix(before == std::string_view::npos ? 0 : before + 1);
  return without_blanks(line.substr(0, line.find_first_of(",]}#")));
}

// Returns what to write for the three mistakes that people make first; empty: the parser's words are enough.
std::string hint_of_toml(std::string_view line, std::uint32_t column) {
  if (line.find("==") != std::string_view::npos) return "write one \"=\"";
  if (line.find('=') == std::string_view::npos) return "a line is key = value, or a [section]";
  const std::string_view word = word_at(line, std::min<std::size_t>(column, line.size()));
  if (word.empty() || word.find_first_of("\"'=") != std::string_view::npos) return "";
  std::string small(word);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  if (small == "true" || small == "false") return "write true or false in lower case: " + small;
  const bool is_number = word.find_first_not_of("0123456789+-._eE") == std::string_view::npos;
  return is_number ? "" : "text needs quotes: " + in_quotes(word);
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

std::string written_value(const Value& from);

std::string written_table(const Value& from) {
  std::string entries;
  for (const auto& [name, entry] : from.items()) {
    entries += (entries.empty() ? " " : ", ") + written_key(name) + " = " + written_value(entry);
  }
  return entries.empty() ? "{}" : "{" + entries + " }";
}

// Tables in a list get their own lines.
std::string written_list(const Value& from) {
  const bool of_tables = !from.empty() && from.front().is_object();
  std::string items;
  for (const Value& item : from) {
    if (of_tables) {
      items += "\n  " + written_value(item) + ",";
    } else {
      items += (items.empty() ? "" : ", ") + written_value(item);
    }
  }
  return "[" + items + (of_tables ? "\n]" : "]");
}

// Numbers as nlohmann prints them: the shortest digits that read back to the same value.
std::string written_value(const Value& from) {
  if (from.is_string()) return quoted(from.get<std::string>());
  if (from.is_array()) return written_list(from);
  if (from.is_object()) return written_table(from);
  return from.dump();
}

}  // namespace

std::optional<Node> parse_toml(const std::shared_ptr<const Source>& source, std::string_view text, Mistakes& mistakes) {
  if (const auto too_deep = find_too_deep(text)) {
    mistakes.add({.source = source, .line = too_deep->line, .column = too_deep->column}, too_deep->what);
    return std::nullopt;
  }
  const Converter converter(source);
  try {
    return converter.convert(toml::parse(text));
  } catch (const Draft& draft) {
    mistakes.add(draft.place, draft.what);
    return std::nullopt;
  } catch (const toml::parse_error& error) {
    const SourceRange place = converter.place(error.source());
    mistakes.add(place, parser_words(error.description()), hint_of_toml(source->line(place.line), place.column));
    return std::nullopt;
  }
}

std::string to_toml(const Value& written) {
  std::string top;
  std::string sections;
  for (const auto& [name, entry] : written.items()) {
    if (!entry.is_object()) {
      top += written_key(name) + " = " + written_value(entry) + "\n";
    } else if (entry.size() == 1 && entry.contains("name")) {
      top += written_key(name) + " = " + written_value(entry["name"]) + "\n";
    } else {
      sections += "\n[" + written_key(name) + "]\n";
      for (const auto& [inner, of_inner] : entry.items())
        sections += written_key(inner) + " = " + written_value(of_inner) + "\n";
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
  if (kind != Kind::text) return std::nullopt;
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
  const bool is_other = value.kind == Kind::text || value.kind == Kind::list || value.is_table();
  if (is_other || !value.place.source || value.place.source->is_file()) return value;
  value.kind = Kind::text;
  value.scalar = std::string(text_at(value.place));
  return value;
}

Value to_value(const Node& node) {
  if (node.kind == Kind::list) {
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
    case Kind::boolean:
    case Kind::integer:
      return node.scalar.dump();
    case Kind::number: {
      const double number = node.scalar.get<double>();
      if (std::isnan(number)) return "nan";
      if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
      return node.scalar.dump();
    }
    case Kind::text:
      return "the text " + in_quotes(node.scalar.get<std::string>());
    case Kind::date:
      return "a date or time";
    case Kind::list:
      return "a list";
    case Kind::table:
      return "a table";
  }
  return "";
}

}  // namespace ddp::config
