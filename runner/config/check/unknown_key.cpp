#include <algorithm>

#include "base/own_command.h"
#include "config/check/check.h"
#include "config/check/common_names.h"
#include "config/check/phrases.h"
#include "config/compose/forms.h"
#include "config/option/parameter.h"

namespace ddp::config {
namespace {

constexpr std::size_t kMostPlaces = 3;

bool has_key(const std::vector<Option>& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(), [&](const Option& option) { return option.name == name; });
}

const AbsentKey* find_absent(const std::string& section, const std::string& key) {
  const auto it = std::find_if(kAbsentKeys.begin(), kAbsentKeys.end(),
                               [&](const AbsentKey& absent) { return absent.section == section && absent.key == key; });
  return it == kAbsentKeys.end() ? nullptr : &*it;
}

// Returns the line of a file at the place, without its blanks in front; empty for a place outside of files.
std::string_view line_at(const SourceRange& place) {
  if (!place.source || !place.source->is_file()) return {};
  std::string_view line = place.source->line(place.line);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line;
}

// Does the key begin a line of its own, so that the line can be moved?
bool begins_line(const std::string& key, const Node& value) {
  std::string_view line = line_at(value.key);
  if (line.starts_with('"')) line.remove_prefix(1);
  return line.starts_with(key);
}

std::string did_you_mean(const std::vector<std::string>& paths) {
  std::string text;
  for (std::size_t i = 0; i < std::min(paths.size(), kMostPlaces); ++i) {
    text += (i > 0 ? " or \"" : "\"") + paths[i] + "\"";
  }
  return "did you mean " + text + "?";
}

// Lists the sections of these paths: "[ema] and [validation]".
std::string sections_of(const std::vector<std::string>& paths) {
  std::string text;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    text += i == 0 ? "" : i + 1 < paths.size() ? ", " : " and ";
    text += "[" + paths[i].substr(0, paths[i].rfind('.')) + "]";
  }
  return text;
}

// Returns the path that a key with this value can mean: a table stands for a whole section without a component.
std::string path_for(const std::string& path, const Node& value, const std::vector<Option>& options) {
  const std::string section = path.substr(0, path.find('.'));
  const bool is_section = std::any_of(options.begin(), options.end(), [&](const Option& option) {
    return option.name == section && option.component_kind.empty();
  });
  return value.is_table() && is_section ? section : path;
}

}  // namespace

void Checker::unknown_key(const std::string& key, const Node& value, const std::vector<Option>& options,
                          const Owner& owner) const {
  if (const AbsentKey* absent = find_absent(owner.section.empty() ? owner.path : owner.section, key)) {
    problems_.add(value.key, absent->what, absent->remedy);
    return;
  }
  const std::string in = owner.path.empty() ? "" : " in [" + owner.path + "]";
  problems_.add(
      value.key,
      owner.kind.empty() ? "unknown key " + in_quotes(key) + in : owner.known_as + " has no option " + in_quotes(key),
      remedy_of_unknown(key, value, options, owner));
}

// Looks first among the section's own keys, then for the same name elsewhere in the file.
std::string Checker::remedy_of_unknown(const std::string& key, const Node& value, const std::vector<Option>& options,
                                       const Owner& owner) const {
  const bool at_top = owner.path.empty();
  const bool is_item = !owner.section.empty();
  std::vector<std::string> known = config::names_of(options);
  if (at_top) {
    known.insert(known.end(), {"extends", "sweep"});
    for (const ShortForm& form : kShortForms) known.push_back(form.key);
  }
  std::string own = at_top ? "" : remedy_in_section(is_item ? owner.section : owner.path, key);
  if (!own.empty()) return own;
  if (!at_top && (has_key(options_, key) || key == "extends") && (!is_item || begins_line(key, value))) {
    return remedy_at_path(key, value, owner);
  }
  const CommonName* const common = is_item ? nullptr : find_common_name(key);
  if (common && at_top) {
    const std::string meant = *common->key ? remedy_at_path(common->key, value, owner) : "";
    if (meant.empty() || !*common->words) return meant + as_called(common->words);
    return meant + (meant.ends_with('?') ? " " : "\n  ") + as_called(common->words);
  }
  own = at_top || is_item ? "" : key_in_section(key, known);
  if (!own.empty()) {
    const std::string path = owner.path + "." + own;
    return did_you_mean({begins_line(owner.path + ".", value) ? path : own}) + given_already(path, value);
  }
  const std::vector<std::string> elsewhere =
      is_item ? std::vector<std::string>() : places_of_key(plain_name(key), options_, components_);
  if (at_top && elsewhere.size() == 1) return remedy_at_path(elsewhere.front(), value, owner);
  if (at_top && !elsewhere.empty()) return did_you_mean(elsewhere);
  if (common && !*common->key) return as_called(common->words);
  own = nearest(key, known);
  if (own.empty() && !at_top && !is_item) own = with_word(key, known);
  std::string others;
  for (const auto& [name, spec] : components_.of(owner.kind)) {
    if (has_key(spec.options, key)) others += (others.empty() ? "" : ", ") + name;
  }
  if (own.empty() && others.empty()) {
    if (common) return remedy_at_path(common->key, value, owner);
    if (elsewhere.size() > 1) return in_quotes(key) + " is a key of " + sections_of(elsewhere);
    if (!elsewhere.empty()) return remedy_at_path(elsewhere.front(), value, owner);
  }
  const std::string list =
      is_item ? "keys of one of " + owner.section : owner.known_as + (owner.kind.empty() ? "" : "'s options");
  const std::string path = at_top ? own : owner.path + "." + own;
  const std::string remedy =
      own.empty() ? suggestion("", known, list) : did_you_mean({own}) + given_already(path, value);
  return others.empty() ? remedy : remedy + "\n  this option belongs to " + owner.kind + " " + others;
}

// Returns the remedy for a key that means the key at `path`, outside of its owner or at the top.
std::string Checker::remedy_at_path(const std::string& named, const Node& value, const Owner& owner) const {
  const std::string path = path_for(named, value, options_);
  const bool at_top = path.find('.') == std::string::npos;
  if (const std::string twice = given_already(path, value); !twice.empty()) {
    const bool is_misplaced = at_top && !owner.path.empty() && begins_line(path, value);
    return (is_misplaced ? in_quotes(path) + " belongs at the top of the file." : did_you_mean({path})) + twice;
  }
  const std::string way = way_into_section(path, value);
  if (owner.path.empty() || !way.empty()) return did_you_mean({path}) + way;
  const std::size_t dot = path.rfind('.');
  if (!value.key.source->is_file()) {
    return did_you_mean({path}) + (at_top ? " It belongs in no section" : "");
  }
  if (!at_top) {
    return did_you_mean({path.substr(dot + 1)}) + " It belongs in [" + path.substr(0, dot) + "]";
  }
  if (begins_line(path, value)) {
    return in_quotes(path) + " belongs at the top of the file: move the line above the first [section]";
  }
  return did_you_mean({path}) + " It belongs at the top of the file";
}

// Returns the remedy for a key that its file gives already, under its right name; empty: the file does not.
std::string Checker::given_already(const std::string& path, const Node& value) const {
  const Node* const twice = given_ ? given_->at_path(path) : nullptr;
  if (value.varies) return "";  // a sweep may vary a key that the file gives
  if (!twice || twice->key.source != value.key.source || !value.key.source->is_file()) return "";
  return " Line " + std::to_string(twice->key.line) +
         " gives it already: " + (value.is_table() ? "write all its keys there" : "keep one of them");
}

// Returns how to write the key into its section if the same file has a table of it: a dotted key would be a second one.
std::string Checker::way_into_section(const std::string& path, const Node& value) const {
  const std::size_t dot = path.find('.');
  const std::string name = path.substr(0, dot);
  const Node* section = given_ && dot != std::string::npos ? given_->find(name) : nullptr;
  if (!section || section->key.source != value.key.source) return "";
  const std::string_view line = line_at(section->key);
  const std::string entry = path.substr(dot + 1) + " = " + in_example(path, value);
  const std::string number = std::to_string(section->key.line);
  if (line.starts_with('[')) return " Write it below line " + number + ", [" + name + "]: " + entry;
  const Node* text = section->whole ? section->find("name") : nullptr;
  if (text && text->text()) {
    const auto own = std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.name == name; });
    const bool is_known = own != options_.end() && components_.find(own->component_kind, *text->text()) != nullptr;
    if (!is_known && own != options_.end() && !own->component_kind.empty()) return "";
    return " Write line " + number + " as " + name + " = { name = " + in_quotes(*text->text()) + ", " + entry + " }";
  }
  if (line.find('{') == std::string_view::npos) return "";
  return " Write it in the table of line " + number + ": " + name + " = { …, " + entry + " }";
}

// Returns the value as TOML, for an example of this key; "…" if the key takes no such value.
std::string Checker::in_example(const std::string& path, const Node& value) const {
  const Option* const option = find_option(path, options_, components_);
  const bool is_short = value.scalar.is_primitive() && !value.scalar.is_null();
  if (!option || !is_short) return "…";
  const Type types[] = {Type::boolean, Type::integer, Type::number, Type::text};
  const bool fits = value.kind <= Kind::text && (takes_type(*option, types[static_cast<int>(value.kind)]) ||
                                                 (value.kind == Kind::integer && takes_type(*option, Type::number)));
  return fits ? printable(value.scalar.dump(-1, ' ', false, Value::error_handler_t::replace)) : "…";
}

std::vector<std::string> places_of_key(const std::string& key, const std::vector<Option>& options,
                                       const Components& components) {
  if (has_key(options, key)) return {key};
  std::vector<std::string> paths;
  for (const Option& option : options) {
    bool found = has_key(option.section, key);
    if (!option.component_kind.empty()) {
      for (const auto& [name, spec] : components.of(option.component_kind)) {
        found = found || has_key(spec.options, key);
      }
    }
    if (found) paths.push_back(option.name + "." + key);
  }
  return paths;
}

std::string place_of_key(const std::string& key, const std::vector<Option>& options, const Components& components) {
  const std::vector<std::string> paths = places_of_key(key, options, components);
  return paths.empty() ? "" : paths.front();
}

}  // namespace ddp::config
