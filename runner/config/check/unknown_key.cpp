#include <algorithm>

#include "config/check/check.h"
#include "config/check/common_names.h"
#include "config/check/phrases.h"
#include "config/compose/forms.h"

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

// Returns a value as TOML, for an example; a list or table stands as "…".
std::string in_example(const Node& value) {
  const bool is_short = value.scalar.is_primitive() && !value.scalar.is_null();
  return is_short ? printable(value.scalar.dump(-1, ' ', false, Value::error_handler_t::replace)) : "…";
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
  std::string own = at_top || is_item ? "" : remedy_in_section(owner.path, key);
  if (!own.empty()) return own;
  if (!at_top && has_key(options_, key) && (!is_item || begins_line(key, value))) {
    return remedy_at_path(key, value, owner);
  }
  const CommonName* const common = is_item ? nullptr : find_common_name(key);
  if (common && at_top) {
    const std::string meant = *common->key ? remedy_at_path(common->key, value, owner) : "";
    return meant + (meant.empty() || !*common->words ? "" : " ") + common->words;
  }
  own = at_top || is_item ? "" : key_in_section(key, known);
  if (!own.empty()) {
    return did_you_mean({begins_line(owner.path + ".", value) ? owner.path + "." + own : own});
  }
  const std::vector<std::string> elsewhere =
      is_item ? std::vector<std::string>() : places_of_key(plain_name(key), options_, components_);
  if (at_top && elsewhere.size() == 1) return remedy_at_path(elsewhere.front(), value, owner);
  if (at_top && !elsewhere.empty()) return did_you_mean(elsewhere);
  if (common && !*common->key) return common->words;
  own = nearest(key, known);
  if (own.empty() && !at_top && !is_item) own = with_word(key, known);
  std::string others;
  for (const auto& [name, spec] : components_.of(owner.kind)) {
    if (has_key(spec.options, key)) others += (others.empty() ? "" : ", ") + name;
  }
  if (own.empty() && others.empty()) {
    if (common) return remedy_at_path(common->key, value, owner);
    if (!elsewhere.empty()) return remedy_at_path(elsewhere.front(), value, owner);
  }
  const std::string list =
      is_item ? "keys of one of " + owner.section : owner.known_as + (owner.kind.empty() ? "" : "'s options");
  const std::string remedy = own.empty() ? suggestion("", known, list) : did_you_mean({own});
  return others.empty() ? remedy : remedy + "\n  this option belongs to " + owner.kind + " " + others;
}

// Returns the remedy for a key that means the key at `path`, outside of its owner or at the top.
std::string Checker::remedy_at_path(const std::string& path, const Node& value, const Owner& owner) const {
  const std::size_t dot = path.rfind('.');
  if (owner.path.empty()) return did_you_mean({path}) + way_into_section(path, value);
  if (!value.key.source->is_file()) {
    return did_you_mean({path}) + (dot == std::string::npos ? " It belongs in no section" : "");
  }
  if (dot != std::string::npos) {
    return did_you_mean({path.substr(dot + 1)}) + " It belongs in [" + path.substr(0, dot) + "]";
  }
  if (begins_line(path, value)) {
    return in_quotes(path) + " belongs at the top of the file: move the line above the first [section]";
  }
  return did_you_mean({path}) + " It belongs at the top of the file";
}

// Returns how to write the key into its section if the same file has a table of it: a dotted key would be a second one.
std::string Checker::way_into_section(const std::string& path, const Node& value) const {
  const std::size_t dot = path.find('.');
  const std::string name = path.substr(0, dot);
  const Node* section = root_ && dot != std::string::npos ? root_->find(name) : nullptr;
  if (!section || section->key.source != value.key.source) return "";
  const std::string_view line = line_at(section->key);
  const std::string entry = path.substr(dot + 1) + " = " + in_example(value);
  const std::string number = std::to_string(section->key.line);
  if (line.starts_with('[')) return " Write it below line " + number + ", [" + name + "]: " + entry;
  const Node* text = section->whole ? section->find("name") : nullptr;
  if (text && text->text()) {
    return " Write line " + number + " as " + name + " = { name = " + in_quotes(*text->text()) + ", " + entry + " }";
  }
  if (line.find('{') == std::string_view::npos) return "";
  return " Write it in the table of line " + number + ": " + name + " = { …, " + entry + " }";
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
