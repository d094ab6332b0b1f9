#include "config/check/check.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/paths.h"
#include "config/experiment.h"
#include "config/metric.h"
#include "config/run_part.h"

namespace ddp::config {
namespace {

std::string joined(const std::vector<std::string>& parts, const std::string& between_two) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between_two) + part;
  return text;
}

std::string number(double value) {
  return value == static_cast<double>(static_cast<long long>(value)) ? std::to_string(static_cast<long long>(value))
                                                                     : Value(value).dump();
}

std::string bounds(const Range& range) {
  const std::string low = range.minimum ? number(*range.minimum) : "";
  const std::string high = range.maximum ? number(*range.maximum) : "";
  if (range.minimum && range.maximum) {
    return (range.minimum_excluded ? " above " : " from ") + low + (range.maximum_excluded ? " to below " : " to ") +
           high;
  }
  if (range.minimum) return (range.minimum_excluded ? " above " : " of at least ") + low;
  if (range.maximum) return (range.maximum_excluded ? " below " : " of at most ") + high;
  return "";
}

std::string expected_text(const Option& option) {
  if (!option.form.empty()) return text_form(option.form).in_words;
  if (option.choices.empty()) return "a text";
  std::vector<std::string> choices;
  // The empty choice stands for "not given"; users need not write it.
  for (const std::string& choice : option.choices) {
    if (!choice.empty()) choices.push_back("\"" + choice + "\"");
  }
  for (const std::string& prefix : option.numbered) choices.push_back("\"" + prefix + "N\" with a number for N");
  return "one of " + joined(choices, ", ");
}

std::string expected_list(const Option& option) {
  if (!option.variants.empty()) return "a list of tables, each with a \"type\"";
  if (!option.item_keys.empty()) return "a list of tables";
  if (!option.form.empty() && !option.item) {
    return "a list, each an integer" + bounds(option.range) + " or " + text_form(option.form).in_words;
  }
  const std::string length = option.length ? std::to_string(*option.length) + " " : "";
  if (!option.item) return length.empty() ? "a list" : "a list of " + length + "values";
  switch (*option.item) {
    case Type::boolean:
      return "a list of " + length + "booleans";
    case Type::integer:
      return "a list of " + length + "integers" + bounds(option.range);
    case Type::number:
      return "a list of " + length + "numbers" + bounds(option.range);
    case Type::text:
      return "a list of " + length + "texts" + (option.choices.empty() ? "" : ", each " + expected_text(option));
    case Type::list:
      return "a list of " + length + "lists";
    case Type::table:
      return "a list of " + length + "tables";
  }
  return "";
}

std::string expected(const Option& option, Type type) {
  switch (type) {
    case Type::boolean:
      return "true or false";
    case Type::integer:
      return "an integer" + bounds(option.range);
    case Type::number:
      return "a number" + bounds(option.range);
    case Type::text:
      return option.component_kind.empty() ? expected_text(option) : "a name";
    case Type::list:
      return expected_list(option);
    case Type::table:
      return option.component_kind.empty() ? "a table" : "a table with a name";
  }
  return "";
}

const Option* find(const std::vector<Option>& options, const std::string& name) {
  const auto it =
      std::find_if(options.begin(), options.end(), [&](const Option& option) { return option.name == name; });
  return it == options.end() ? nullptr : &*it;
}

const Spec* find(const std::vector<Spec>& specs, const std::string& name) {
  const auto it = std::find_if(specs.begin(), specs.end(), [&](const Spec& spec) { return spec.name == name; });
  return it == specs.end() ? nullptr : &*it;
}

std::string under(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

// Leaves out the key that names the component or the variant: it is not an option of it.
Node without(const Node& table, const std::string& key) {
  Node rest = table;
  rest.entries.erase(key);
  return rest;
}

bool contains(const Range& range, double number) {
  if (range.minimum && (range.minimum_excluded ? number <= *range.minimum : number < *range.minimum)) return false;
  if (range.maximum && (range.maximum_excluded ? number >= *range.maximum : number > *range.maximum)) return false;
  return true;
}

// Is the text a name that option.numbered stands for, such as "top5"?
bool is_numbered(const Option& option, const std::string& text) {
  const auto numbered = numbered_name(text);
  if (!numbered) return false;
  const std::string prefix = numbered->family.substr(0, numbered->family.size() - 1);
  return std::find(option.numbered.begin(), option.numbered.end(), prefix) != option.numbered.end();
}

const AbsentKey* find_absent(const std::string& section, const std::string& key) {
  const auto it = std::find_if(kAbsentKeys.begin(), kAbsentKeys.end(),
                               [&](const AbsentKey& absent) { return absent.section == section && absent.key == key; });
  return it == kAbsentKeys.end() ? nullptr : &*it;
}

// Returns `did you mean "lr"?`; "" for no path.
std::string did_you_mean(const std::string& path) { return path.empty() ? "" : "did you mean \"" + path + "\"?"; }

std::vector<Named> named_choices(const Option& option) {
  std::vector<Named> names;
  for (const std::string& choice : option.choices) {
    if (!choice.empty()) names.push_back({.name = choice});
  }
  return names;
}

}  // namespace

std::string expected(const Option& option) {
  std::vector<std::string> parts;
  for (Type type : option.types) parts.push_back(expected(option, type));
  return joined(parts, " or ");
}

std::string absolute_path(const Node& node, const std::string& name) {
  if (name.empty()) return name;
  return paths::absolute(node.place.source->folder() / name).string();
}

bool names_file(const Option& option, const std::string& text) {
  return option.path && std::find(option.words.begin(), option.words.end(), text) == option.words.end();
}

std::string path_or_run(const Node& node, const Option& option) {
  const std::string name = *node.text();
  const std::string path = absolute_path(node, name);
  std::error_code unreadable;
  const auto holds = [&](const char* file) { return std::filesystem::exists(path + "/" + file, unreadable); };
  // A folder of data may have the name of a run.
  const bool is_path = !option.names_run || std::string_view(name).ends_with(".safetensors") ||
                       std::filesystem::is_regular_file(path, unreadable) || holds("config.toml") ||
                       holds("model.safetensors");
  return is_path ? path : name;
}

Value Checker::check(const Node& root, const Node& given) {
  given_ = &given;
  return table(root, options_, {.path = "", .known_as = "keys"});
}

Value Checker::check_section(const Node& node, const std::string& path, const std::string& kind,
                             const std::string& name) const {
  return table(node, options_, {.path = path, .known_as = (kind.empty() ? "" : kind + " ") + name, .kind = kind});
}

Value Checker::table(const Node& node, const std::vector<Option>& options, const Owner& owner) const {
  for (const auto* entry : in_file_order(node)) {
    if (!find(options, entry->first)) unknown_key(entry->first, entry->second, options, owner);
  }
  Value values = Value::object();
  for (const Option& option : options) {
    const std::string path = under(owner.path, option.name);
    const Node* given = node.find(option.name);
    const bool names_default = !option.component_kind.empty() && option.default_value.is_string();
    if (given || names_default) {
      const Node unnamed{.key = node.key, .place = node.place};
      if (auto read = value(given ? *given : unnamed, option, path)) values[option.name] = std::move(*read);
    } else if (option.required) {
      missing(node, option, path);
    } else if (!option.default_value.is_null()) {
      values[option.name] = option.default_value;
    }
  }
  return values;
}

void Checker::missing(const Node& node, const Option& option, const std::string& path) const {
  const std::string hint =
      option.component_kind.empty()
          ? "give " + expected(option) + (option.doc.empty() ? "" : ": " + option.doc)
          : hint_of_name("", named(components_.of(option.component_kind)), "every " + option.component_kind);
  // A setting of the name alone leaves no option of the former component.
  const Node* name = given_ == nullptr ? nullptr : given_->at_path(path.substr(0, path.rfind('.')) + ".name");
  const bool renamed = name && is_of_command_line(name->place);
  mistakes_.add(renamed ? name->place : node.place, "\"" + path + "\" is missing", hint);
}

void Checker::unknown_key(const std::string& key, const Node& value, const std::vector<Option>& options,
                          const Owner& owner) const {
  if (const AbsentKey* absent = find_absent(owner.section.empty() ? owner.path : owner.section, key)) {
    mistakes_.add(value.key, absent->what, absent->hint);
    return;
  }
  const std::string in = owner.path.empty() ? "" : " in [" + owner.path + "]";
  mistakes_.add(
      value.key,
      owner.kind.empty() ? "unknown key " + in_quotes(key) + in : owner.known_as + " has no option " + in_quotes(key),
      hint_of_key(key, value, options, owner));
}

// Looks for the same name first, then for the nearest one: in the section itself, then in all sections.
std::string Checker::hint_of_key(const std::string& key, const Node& value, const std::vector<Option>& options,
                                 const Owner& owner) const {
  constexpr std::size_t kMostHints = 200;  // more mistakes are not shown
  if (mistakes_.size() > kMostHints) return "";
  const bool at_top = owner.path.empty();
  std::vector<Named> own = named(options);
  if (!owner.kind.empty() && owner.section.empty() && given_) own.push_back({.name = "name", .aliases = {"type"}});
  if (at_top) {
    for (const char* name : {"extends", "sweep"}) own.push_back({.name = name});
    for (const ShortForm& form : kShortForms) own.push_back({.name = form.key});
  }
  std::vector<Named> others;
  if (given_) {
    others = keys_of(options_, components_);
    others.push_back({.name = "extends"});
    std::erase_if(others, [&](const Named& one) { return one.path.starts_with(owner.path + "."); });
  }
  std::string mine = same_name(key, own);
  std::string of_others, theirs;
  for (const auto& [name, spec] : components_.of(owner.kind)) {
    const std::string same = mine.empty() ? same_name(key, named(spec.options)) : "";
    if (same.empty()) continue;
    theirs = same;
    of_others += (of_others.empty() ? "" : ", ") + name;
  }
  std::string elsewhere = mine.empty() && of_others.empty() ? same_name(key, others) : "";
  if (mine.empty() && elsewhere.empty()) mine = nearest_name(key, own);
  if (mine.empty() && elsewhere.empty() && of_others.empty()) elsewhere = nearest_name(key, others);
  std::string hint;
  if (!mine.empty()) {
    hint = did_you_mean(mine) + given_already(under(owner.path, mine), value);
  } else if (!elsewhere.empty()) {
    const std::size_t dot = elsewhere.rfind('.');
    const std::string place =
        dot == std::string::npos ? "at the top of the file" : "in [" + elsewhere.substr(0, dot) + "]";
    const bool in_file = !value.varies && value.key.source->is_file();
    hint = did_you_mean(elsewhere) + (in_file ? " It belongs " + place + "." : "") + given_already(elsewhere, value);
  } else if (!theirs.empty() && theirs != key) {
    hint = did_you_mean(theirs);
  } else {
    hint = hint_of_name("", own,
                        owner.section.empty() ? owner.known_as + (owner.kind.empty() ? "" : "'s options")
                                              : "keys of one of " + owner.section);
  }
  return of_others.empty() ? hint : hint + "\n  this option belongs to " + owner.kind + " " + of_others;
}

// Tells if the file gives the key under its right name too.
std::string Checker::given_already(const std::string& path, const Node& value) const {
  const Node* const twice = given_ ? given_->at_path(path) : nullptr;
  if (!twice || value.varies || twice->key.source != value.key.source || !value.key.source->is_file()) return "";
  return " Line " + std::to_string(twice->key.line) + " gives it already";
}

std::optional<Value> Checker::value(const Node& node, const Option& option, const std::string& path) const {
  if (!option.component_kind.empty()) return component(node, option, path);
  if (!option.section.empty()) {
    if (!node.is_table()) return wrong(node, option, path);
    return table(node, option.section, {.path = path, .known_as = "keys of [" + path + "]"});
  }
  switch (node.kind) {
    case Kind::boolean:
      return takes_type(option, Type::boolean) ? node.scalar : std::optional<Value>(wrong(node, option, path));
    case Kind::integer:
      if (takes_type(option, Type::integer)) return scalar(node, option, path);
      [[fallthrough]];
    case Kind::number:
      return takes_type(option, Type::number) ? scalar(node, option, path) : wrong(node, option, path);
    case Kind::text:
      return takes_type(option, Type::text) ? scalar(node, option, path) : wrong(node, option, path);
    case Kind::list:
      return takes_type(option, Type::list) ? list(node, option, path) : wrong(node, option, path);
    case Kind::table:
      return takes_type(option, Type::table) ? plain(node, path) : wrong(node, option, path);
    case Kind::date:
      break;
  }
  return wrong(node, option, path);
}

std::optional<Value> Checker::component(const Node& node, const Option& option, const std::string& path) const {
  if (node.text()) {
    // The name alone. At the top of a file it is a table already.
    Node name{.key = node.key, .place = node.place};
    name.entries["name"] = node;
    return component(name, option, path);
  }
  if (!node.is_table()) return wrong(node, option, path);
  const std::string& kind = option.component_kind;
  const std::vector<Named> known = named(components_.of(kind));
  const Node* name_node = node.find("name");
  std::optional<std::string> name = name_node ? name_node->text() : std::nullopt;
  if (!name_node && option.default_value.is_string()) name = option.default_value.get<std::string>();
  if (!name && !name_node) {
    mistakes_.add(node.place, "\"" + path + ".name\" is missing", hint_of_name("", known, "every " + kind));
    return std::nullopt;
  }
  if (!name) return wrong(*name_node, {.name = "name", .types = {Type::text}}, path + ".name");
  const Spec* spec = components_.find(kind, *name);
  if (!spec) {
    mistakes_.add(name_node ? name_node->place : node.place, "there is no " + kind + " " + in_quotes(*name),
                  hint_of_name(*name, known, "every " + kind));
    options_of_meant(without(node, "name"), option, path, nearest_name(*name, known));
    return std::nullopt;
  }
  Value values = Value::object();
  values["name"] = *name;
  const Owner owner{.path = path, .known_as = kind + " " + *name, .kind = kind};
  values.update(table(without(node, "name"), spec->options, owner));
  return values;
}

void Checker::options_of_meant(const Node& given, const Option& option, const std::string& path,
                               const std::string& meant) const {
  const Spec* spec = components_.find(option.component_kind, meant);
  if (!spec) return;
  std::vector<Option> options = spec->options;
  for (Option& one : options) one.required = false;  // perhaps another component is meant
  table(given, options, {.path = path, .known_as = option.component_kind + " " + meant, .kind = option.component_kind});
}

// Reads one table of a list of tables that all have the same keys.
std::optional<Value> Checker::item_table(const Node& node, const Option& option, const std::string& path) const {
  if (!node.is_table()) {
    mistakes_.add(node.place, "\"" + path + "\" must be a table, not " + shown(node));
    return std::nullopt;
  }
  const std::string known_as =
      option.item_component.empty() ? "keys of one of " + option.name : option.item_kind + " " + option.item_component;
  return table(node, option.item_keys,
               {.path = path,
                .known_as = known_as,
                .kind = option.item_component.empty() ? "" : option.item_kind,
                .section = option.name});
}

// Reads one table of a list of tables; its "type" determines its other keys.
std::optional<Value> Checker::variant(const Node& node, const Option& option, const std::string& path) const {
  const std::vector<Named> known = named(option.variants);
  const Node* type_node = node.find("type");
  const std::optional<std::string> type = type_node ? type_node->text() : std::nullopt;
  if (type_node && !type) return wrong(*type_node, {.name = "type", .types = {Type::text}}, path + ".type");
  const Spec* spec = type ? find(option.variants, *type) : nullptr;
  if (!node.is_table()) {
    mistakes_.add(node.place, "\"" + path + "\" must be a table, not " + shown(node));
  } else if (!type) {
    mistakes_.add(node.place, "\"" + path + ".type\" is missing", hint_of_name("", known, "every type"));
  } else if (!spec) {
    mistakes_.add(type_node->place, "there is no type " + in_quotes(*type), hint_of_name(*type, known, "every type"));
  }
  if (!spec) return std::nullopt;
  Value values = Value::object();
  values["type"] = *type;
  values.update(table(without(node, "type"), spec->options, {.path = path, .known_as = *type}));
  return values;
}

std::optional<Value> Checker::scalar(const Node& node, const Option& option, const std::string& path) const {
  if (node.kind == Kind::text) {
    const auto text = node.scalar.get<std::string>();
    const bool known = std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end() ||
                       is_numbered(option, text);
    if (!option.choices.empty() && !known) return wrong(node, option, path);
    if (!option.form.empty() && !text_form(option.form).fits(text)) return wrong(node, option, path);
    return names_file(option, text) ? Value(path_or_run(node, option)) : node.scalar;
  }
  const double number = node.scalar.get<double>();
  if (!std::isfinite(number) || !contains(option.range, number)) return wrong(node, option, path);
  const bool is_integer = takes_type(option, Type::integer);
  return node.kind == Kind::integer && is_integer ? node.scalar : Value(number);
}

std::optional<Value> Checker::list(const Node& node, const Option& option, const std::string& path) const {
  if (option.length && node.items.size() != *option.length) return wrong(node, option, path);
  Option item = option;
  item.length.reset();
  item.item.reset();
  const bool same_items = option.item || !option.form.empty();
  if (same_items) item.types = option.item ? std::vector<Type>{*option.item} : kTypesWithForm;
  Value values = Value::array();
  bool fits = true;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string item_path = path + "[" + std::to_string(i) + "]";
    std::optional<Value> read = !option.variants.empty()    ? variant(node.items[i], option, item_path)
                                : !option.item_keys.empty() ? item_table(node.items[i], option, item_path)
                                : same_items                ? value(node.items[i], item, item_path)
                                                            : plain(node.items[i], item_path);
    if (read) values.push_back(std::move(*read));
    fits = fits && read;
  }
  return fits ? std::optional(values) : std::nullopt;
}

// Checks a value without an option that describes it: rejects dates and non-finite numbers, which no key takes.
std::optional<Value> Checker::plain(const Node& node, const std::string& path) const {
  const bool is_finite = node.kind != Kind::number || std::isfinite(node.scalar.get<double>());
  if (node.kind == Kind::date || !is_finite) {
    mistakes_.add(node.place, "\"" + path + "\" must not be " + shown(node));
    return std::nullopt;
  }
  if (node.kind == Kind::list) return list(node, {.name = path, .types = {Type::list}}, path);
  if (!node.is_table()) return node.scalar;
  Value values = Value::object();
  for (const auto* entry : in_file_order(node)) {
    if (auto read = plain(entry->second, path + "." + entry->first)) values[entry->first] = std::move(*read);
  }
  return values;
}

std::nullopt_t Checker::wrong(const Node& node, const Option& option, const std::string& path) const {
  const std::string given =
      option.length && node.kind == Kind::list ? "a list of " + std::to_string(node.items.size()) : shown(node);
  mistakes_.add(node.place, "\"" + path + "\" must be " + expected(option) + ", not " + given,
                hint_of_value(node, option, path));
  return std::nullopt;
}

// Returns the nearest choice, or the keys of a section; empty: the expected form in the message is enough.
std::string Checker::hint_of_value(const Node& node, const Option& option, const std::string& path) const {
  if (!option.section.empty()) return hint_of_name("", named(option.section), "its keys");
  if (path == "device_pool" && node.kind != Kind::list) return kPoolForms;
  const auto text = node.text();
  if (!text) return "";
  const Spec* metric = option.names_kind == "metric" && text->starts_with(kValidationPrefix)
                           ? find_metric(text->substr(kValidationPrefix.size()), components_)
                           : nullptr;
  if (metric && has_matrix(*metric)) return metric->name + " is a matrix: give a metric that is a number";
  return did_you_mean(nearest_name(*text, named_choices(option)));
}

}  // namespace ddp::config
