#include "config/load/compose.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "config/check/suggest.h"
#include "config/experiment.h"
#include "config/text/toml.h"

namespace ddp::config {
namespace {

constexpr std::size_t kMaxLayers = 16;
constexpr std::uintmax_t kMaxBytes = 1 << 20;  // no experiment file written by a person is larger

// Reads the text of a file, or returns the reason why it cannot be read.
std::string read_text(const std::filesystem::path& path, std::string& text) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (status.type() == std::filesystem::file_type::not_found) return "there is no such file";
  if (code) return code.message();
  if (std::filesystem::is_directory(status)) return "it is a directory";
  if (!std::filesystem::is_regular_file(status)) return "it is not a regular file";
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::strerror(errno);
  text.resize(kMaxBytes + 1);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return "it cannot be read";
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text.size() > kMaxBytes ? "it is larger than 1 MiB: not an experiment file" : "";
}

// Returns the file, then the file that it extends, and so on. Returns nothing if one could not be read.
std::optional<std::vector<Node>> read_layers(std::filesystem::path file, Mistakes& mistakes) {
  std::vector<Node> layers;
  std::vector<std::filesystem::path> seen;
  std::optional<Node> extends;  // the value that led to the file
  const auto fail = [&](const std::string& what, const std::string& remedy = "") {
    mistakes.add(extends->place, what, remedy);
    return std::nullopt;
  };
  for (;;) {
    std::error_code none;
    seen.push_back(std::filesystem::weakly_canonical(file, none));
    const auto first = std::find(seen.begin(), seen.end(), seen.back());
    if (first != seen.end() - 1) {
      std::string chain = first->filename().string();
      for (auto next = first + 1; next != seen.end(); ++next) chain += " -> " + next->filename().string();
      return fail("this file extends itself", printable(chain));
    }
    if (seen.size() > kMaxLayers) return fail("more than " + std::to_string(kMaxLayers) + " files extend each other");
    std::string text;
    const std::string error = read_text(file, text);
    const auto source = Source::file(file, std::move(text), static_cast<int>(layers.size()));
    if (!error.empty()) {
      const std::string remedy = did_you_mean(printable(file_like(file)));
      if (extends) return fail("cannot read " + in_quotes(file.string()) + ": " + error, remedy);
      mistakes.add({.source = source}, error, remedy);
      return std::nullopt;
    }
    std::optional<Node> layer = parse_toml(source, source->text(), mistakes);
    if (!layer) return std::nullopt;
    layer->place = {.source = source};
    layers.push_back(std::move(*layer));
    const auto given = layers.back().entries.find("extends");
    if (given == layers.back().entries.end()) return layers;
    extends = std::move(given->second);
    layers.back().entries.erase(given);
    const std::string name = extends->text().value_or("");
    if (name.empty() || name.find('\0') != std::string::npos) {
      return fail("\"extends\" must be the name of a file, not " + shown(*extends));
    }
    file = (file.parent_path() / name).lexically_normal();
  }
}

// A value that begins like a list, a table or a quoted text is TOML; any other value is a bare word.
bool is_bare_word(std::string_view value) {
  return !value.empty() && std::string_view("[{\"'").find(value.front()) == std::string_view::npos;
}

// Returns the number if people write it so but TOML does not: ".001", "1.", "-.5e-3".
std::optional<double> number_of(std::string_view word) {
  const std::string text(word);
  if (text.find('.') == text.npos || text.find_first_not_of("0123456789+-.eE") != text.npos) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return *end == '\0' ? std::optional(number) : std::nullopt;
}

// Parses `key=word`: the tables of the key, with the word as the value: a number if it is one, else the text.
std::optional<Node> with_bare_word(const std::shared_ptr<const Source>& source, std::string_view key,
                                   std::string_view word, Mistakes& mistakes) {
  std::optional<Node> table = parse_toml(source, std::string(key) + "=0", mistakes);
  if (!table) return std::nullopt;
  Node* leaf = &*table;
  while (leaf->is_table() && !leaf->entries.empty()) leaf = &leaf->entries.begin()->second;
  const std::optional<double> number = number_of(word);
  leaf->kind = number ? Type::number : Type::text;
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

// Parses "optimizer.lr=0.1": a TOML value, or a bare word, which is a text. Returns nothing, and adds a mistake,
// otherwise.
std::optional<Node> parse_assignment(int number, const std::string& text, Mistakes& mistakes) {
  const auto source = source_of(number, text);
  const std::string_view line = source->text();
  const std::size_t equals = std::min(line.find('='), line.size());
  const std::string_view key = without_blanks(line.substr(0, equals));
  const std::string_view value = without_blanks(line.substr(std::min(equals + 1, line.size())));
  std::string wrong;
  if (equals == line.size() || key.empty() || key.front() == '#' || line.find('\n') != line.npos) {
    wrong = "not an assignment";
  } else if (value.empty()) {
    wrong = "the value is missing";
  } else if (key == "extends") {
    wrong = "\"extends\" belongs in a file";
  }
  if (!wrong.empty()) {
    mistakes.add({.source = source, .line = 1, .column = 1}, wrong,
                 "--set takes key=value, such as --set optimizer.lr=0.1");
    return std::nullopt;
  }
  Mistakes not_toml;
  if (std::optional<Node> table = parse_toml(source, line, not_toml)) return table;
  if (is_bare_word(value)) return with_bare_word(source, line.substr(0, equals), value, mistakes);
  return parse_toml(source, line, mistakes);
}

// Moves the short form of a key to its long form.
void expand_key(Node& root, const ShortForm& form, Mistakes& mistakes) {
  const auto found = root.entries.find(form.key);
  if (found == root.entries.end()) return;
  Node value = std::move(found->second);
  root.entries.erase(found);
  Node& section = root.entries.try_emplace(form.section, Node{.key = value.key, .place = value.key}).first->second;
  if (!section.is_table()) return;  // the check reports this mistake
  if (const Node* twice = section.find(form.key)) {
    mistakes.add(
        before(value.key, twice->key) ? twice->key : value.key,
        "\"" + std::string(form.key) + "\" is given twice: it is short for \"" + form.section + "." + form.key + "\"",
        "keep one of them");
    return;
  }
  section.entries.emplace(form.key, std::move(value));
}

// `model = "mlp"` becomes `model = { name = "mlp" }`.
void expand_text(Node& root, const std::string& name, const std::string& key) {
  const auto found = root.entries.find(name);
  if (found == root.entries.end() || found->second.kind != Type::text) return;
  Node text = std::move(found->second);
  Node section{.key = text.key, .place = text.place, .whole = true};
  section.entries.emplace(key, std::move(text));
  found->second = std::move(section);
}

void expand(Node& root, const std::vector<Option>& options, Mistakes& mistakes) {
  for (const ShortForm& form : kShortForms) expand_key(root, form, mistakes);
  for (const Option& option : options) {
    if (!option.component_kind.empty()) expand_text(root, option.name, "name");
  }
  for (const ShortForm& form : kTextForms) {
    if (const auto given = root.entries.find(form.section); given != root.entries.end()) {
      given->second = as_typed(std::move(given->second));
    }
    expand_text(root, form.section, form.key);
  }
}

void merge(Node& base, Node over) {
  for (auto& [key, value] : over.entries) {
    const auto [entry, is_new] = base.entries.try_emplace(key);
    if (!is_new && entry->second.is_table() && value.is_table()) {
      entry->second.whole = entry->second.whole || value.whole;
      merge(entry->second, std::move(value));
    } else {
      entry->second = std::move(value);
    }
  }
}

// The options of one component do not fit another: a section that names another component does not inherit them. A
// section without a name has the default one.
bool replaces(const Node& base, const Node& over, const std::string& default_name) {
  if (over.whole) return true;
  const Node* name = over.find("name");
  if (!name) return false;
  const Node* base_name = base.find("name");
  if (!base_name && default_name.empty()) return false;
  return name->text() != (base_name ? base_name->text() : default_name);
}

// Erases the alternative that `over` replaces by giving the other one.
void erase_replaced(Node& base, const Node& over, const Alternatives& two) {
  const bool at_top = *two.section == '\0';
  const Node* above = at_top ? &over : over.find(two.section);
  const auto inner = base.entries.find(two.section);
  Node* below = at_top ? &base : inner == base.entries.end() ? nullptr : &inner->second;
  if (!above || !below) return;
  if (above->find(two.first)) below->entries.erase(two.second);
  if (above->find(two.second)) below->entries.erase(two.first);
}

// Lays `over` over `base`, with priority to `over`.
void lay_over(Node& base, Node over, const std::vector<Option>& options) {
  for (const Option& option : options) {
    const Node* below = base.find(option.name);
    const Node* above = over.find(option.name);
    if (option.component_kind.empty() || !below || !above) continue;
    const std::string default_name = option.default_value.is_string() ? option.default_value.get<std::string>() : "";
    if (replaces(*below, *above, default_name)) base.entries.erase(option.name);
  }
  for (const ShortForm& form : kTextForms) {
    const Node* above = over.find(form.section);
    if (above && above->whole) base.entries.erase(form.section);
  }
  for (const Alternatives& two : kAlternatives) erase_replaced(base, over, two);
  erase_replaced(base, over, kWarmups);
  merge(base, std::move(over));
}

// Adds one assignment to others. Their order decides nothing, except that a later value of the same key counts, and
// that another name of a component begins its section anew.
void add_assignment(Node& all, Node one, const std::vector<Option>& options) {
  for (const Option& option : options) {
    const Node* earlier = option.component_kind.empty() ? nullptr : all.find(option.name);
    const Node* later = one.find(option.name);
    if (!earlier || !later) continue;
    const bool is_whole = earlier->whole || later->whole;
    const Node* const names[] = {earlier->find("name"), later->find("name")};
    if (names[0] && names[1] && names[0]->text() != names[1]->text()) all.entries.erase(option.name);
    one.entries.at(option.name).whole = is_whole;
  }
  merge(all, std::move(one));
}

}  // namespace

std::string assignment_of_option(const std::string& name, const std::string& key, const std::string& text) {
  return name + " " + key + "=" + Value(text).dump(-1, ' ', false, Value::error_handler_t::replace);
}

void assign(Node& root, std::vector<Node> assigned, const std::vector<Option>& options, Mistakes& mistakes) {
  Node all;
  for (Node& one : assigned) {
    expand(one, options, mistakes);
    add_assignment(all, std::move(one), options);
  }
  lay_over(root, std::move(all), options);
}

namespace {

// Removes the key of "~KEY", which stands for --unset KEY.
void unset(Node& root, int number, const std::string& text, Mistakes& mistakes) {
  const std::string key = text.substr(1);
  const std::optional<Node> assignment = parse_assignment(number, key + "=0", mistakes);
  if (!assignment) return;
  Node* owner = &root;
  const Node* named = &*assignment;
  for (;;) {
    const auto& [name, value] = *named->entries.begin();
    const auto found = owner->entries.find(name);
    if (found == owner->entries.end()) {
      return mistakes.add(value.key, "there is no key " + in_quotes(key) + " to take away", "leave --unset out");
    }
    if (!value.is_table()) {
      owner->entries.erase(found);
      return;
    }
    owner = &found->second;
    named = &value;
  }
}

}  // namespace

std::optional<Node> compose(const std::filesystem::path& file, const std::vector<std::string>& sets,
                            const std::vector<Option>& options, Mistakes& mistakes) {
  std::optional<std::vector<Node>> layers = read_layers(file, mistakes);
  std::vector<Node> assigned;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i].starts_with('~')) continue;
    std::optional<Node> assignment = parse_assignment(static_cast<int>(i) + 1, sets[i], mistakes);
    if (assignment) assigned.push_back(std::move(*assignment));
  }
  if (!layers) return std::nullopt;

  for (Node& layer : *layers) expand(layer, options, mistakes);
  Node root = std::move(layers->back());
  for (auto layer = std::next(layers->rbegin()); layer != layers->rend(); ++layer) {
    root.place = layer->place;
    lay_over(root, std::move(*layer), options);
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i].starts_with('~')) unset(root, static_cast<int>(i) + 1, sets[i], mistakes);
  }
  assign(root, std::move(assigned), options, mistakes);
  return root;
}

}  // namespace ddp::config
