#include "config/check/check.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/paths.h"
#include "base/url.h"
#include "config/experiment.h"
#include "config/length.h"
#include "config/metric.h"

namespace ddp::config {
namespace {

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
  std::string choices;
  const auto add = [&](const std::string& choice) { choices += (choices.empty() ? "one of " : ", ") + choice; };
  // The empty choice stands for "not given"; users need not write it.
  for (const std::string& choice : option.choices) {
    if (!choice.empty()) add("\"" + choice + "\"");
  }
  for (const std::string& prefix : option.numbered) add("\"" + prefix + "N\" with a number for N");
  return choices.empty() ? "a text" : choices;
}

std::string expected_list(const Option& option) {
  if (!option.variants.empty()) return "a list of tables, each with a \"type\"";
  if (!option.item_keys.empty()) return "a list of tables";
  if (!option.form.empty() && !option.item) {
    return "a list, each an integer" + bounds(option.range) + " or " + text_form(option.form).in_words;
  }
  const std::string length = option.length ? std::to_string(*option.length) + " " : "";
  if (!option.item) return length.empty() ? "a list" : "a list of " + length + "values";
  constexpr const char* kItems[] = {"booleans", "integers", "numbers", "texts", "lists", "tables", "dates"};
  std::string list = "a list of " + length + kItems[static_cast<std::size_t>(*option.item)];
  if (*option.item == Type::integer || *option.item == Type::number) list += bounds(option.range);
  if (*option.item == Type::text && !option.choices.empty()) list += ", each " + expected_text(option);
  return list;
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
    case Type::date:
      break;
  }
  return "";
}

// Of options or specs.
template <class T>
const T* find(const std::vector<T>& all, const std::string& name) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::string under(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

// Leaves out the key that names the component or the variant: it is not an option of it.
Node without(const Node& table, const std::string& key) {
  Node rest = table;
  rest.entries.erase(key);
  return rest;
}

// Is the text the name of a known metric of an output, such as "accuracy:kind" or "val_accuracy:kind"?
bool is_of_output(const Option& option, const std::string& text, const Components& components) {
  const bool recorded = option.names_kind == "metric";
  if ((!recorded && option.names_kind != "measure") || (recorded && !text.starts_with(kValidationPrefix))) return false;
  const std::string name = text.substr(recorded ? kValidationPrefix.size() : 0);
  const std::string output = output_metric(name).output;
  const Spec* metric = find_metric(name, components);
  return !output.empty() && is_key_of_metrics(output) && metric != nullptr && !(recorded && has_matrix(*metric));
}

// Is the text a name that option.numbered stands for, such as "top5"?
bool is_numbered(const Option& option, const std::string& text) {
  const auto numbered = numbered_name(text);
  if (!numbered) return false;
  const std::string prefix = numbered->family.substr(0, numbered->family.size() - 1);
  return std::find(option.numbered.begin(), option.numbered.end(), prefix) != option.numbered.end();
}

std::vector<Named> named_choices(const Option& option) {
  std::vector<Named> names;
  for (const std::string& choice : option.choices) {
    if (!choice.empty()) names.push_back({.name = choice});
  }
  return names;
}

}  // namespace

std::string expected(const Option& option) {
  std::string text;
  for (Type type : option.types) text += (text.empty() ? "" : " or ") + expected(option, type);
  return text;
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
  const std::string remedy =
      option.component_kind.empty()
          ? "give " + expected(option) + (option.doc.empty() ? "" : ": " + option.doc)
          : remedy_of_name("", named(components_.of(option.component_kind)), "every " + option.component_kind);
  // A setting of the name alone leaves no option of the former component.
  const Node* name = given_ == nullptr ? nullptr : given_->at_path(path.substr(0, path.rfind('.')) + ".name");
  const bool renamed = name && is_of_command_line(name->place);
  mistakes_.add(renamed ? name->place : node.place, "\"" + path + "\" is missing", remedy);
}

void Checker::unknown_key(const std::string& key, const Node& value, const std::vector<Option>& options,
                          const Owner& owner) const {
  if (owner.path.empty() && key == "cuda_graph") {
    return mistakes_.add(value.key,
                         "there is no \"cuda_graph\" yet: CUDA graphs need a GPU, and this version has not "
                         "been tried on one",
                         "leave it out");
  }
  const std::string in = owner.path.empty() ? "" : " in [" + owner.path + "]";
  mistakes_.add(value.key,
                owner.kind.empty() || !owner.section.empty() ? "unknown key " + in_quotes(key) + in
                                                             : owner.known_as + " has no option " + in_quotes(key),
                remedy_of_key(key, options, owner));
}

// Looks for the same name first, then for the nearest one: in the section itself, then in all sections.
std::string Checker::remedy_of_key(const std::string& key, const std::vector<Option>& options,
                                   const Owner& owner) const {
  constexpr std::size_t kMostRemedies = 200;  // more mistakes are not shown
  if (mistakes_.size() > kMostRemedies) return "";
  std::vector<Named> own = named(options);
  if (!owner.kind.empty() && owner.section.empty() && given_) own.push_back({.name = "name", .aliases = {"type"}});
  if (owner.path.empty()) {
    for (const char* name : {"extends", "sweep"}) own.push_back({.name = name});
    for (const ShortForm& form : kShortForms) own.push_back({.name = form.key});
  }
  if (const std::string same = same_name(key, own); !same.empty()) return did_you_mean(same);
  std::vector<Named> others;
  if (given_) {
    others = keys_of(options_, components_);
    others.push_back({.name = "extends"});
    std::erase_if(others, [&](const Named& one) { return one.path.starts_with(owner.path + "."); });
  }
  std::string of_components;  // that have the option
  for (const auto& [name, spec] : components_.of(owner.kind)) {
    const std::vector<Option> of_spec = owner.section.empty() ? spec.options : options_of_group(spec);
    if (same_name(key, named(of_spec)).empty()) continue;
    of_components += (of_components.empty() ? "\n  this option belongs to " + owner.kind + " " : ", ") + name;
  }
  std::string elsewhere = of_components.empty() ? same_name(key, others) : "";
  const std::string mine = elsewhere.empty() ? nearest_name(key, own) : "";
  if (!mine.empty()) return did_you_mean(mine) + of_components;
  if (elsewhere.empty() && of_components.empty()) elsewhere = nearest_name(key, others);
  if (!elsewhere.empty()) {
    const std::size_t dot = elsewhere.rfind('.');
    return did_you_mean(elsewhere) + " It belongs " +
           (dot == std::string::npos ? "at the top of the file." : "in [" + elsewhere.substr(0, dot) + "].");
  }
  return remedy_of_name("", own,
                        owner.section.empty() ? owner.known_as + (owner.kind.empty() ? "" : "'s options")
                                              : "keys of one of " + owner.section) +
         of_components;
}

std::optional<Value> Checker::value(const Node& node, const Option& option, const std::string& path) const {
  if (!option.component_kind.empty()) return component(node, option, path);
  if (!option.section.empty()) {
    if (!node.is_table()) return wrong(node, option, path);
    return table(node, option.section, {.path = path, .known_as = "keys of [" + path + "]"});
  }
  const bool as_number = node.kind == Type::integer && takes_type(option, Type::number);
  if (!as_number && !takes_type(option, node.kind)) return wrong(node, option, path);
  if (node.kind == Type::boolean) return node.scalar;
  if (node.kind == Type::list) return list(node, option, path);
  return node.is_table() ? plain(node, path) : scalar(node, option, path);
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
    mistakes_.add(node.place, "\"" + path + ".name\" is missing", remedy_of_name("", known, "every " + kind));
    return std::nullopt;
  }
  if (!name) return wrong(*name_node, {.name = "name", .types = {Type::text}}, path + ".name");
  const Spec* spec = components_.find(kind, *name);
  if (!spec) {
    mistakes_.add(name_node ? name_node->place : node.place, "there is no " + kind + " " + in_quotes(*name),
                  remedy_of_name(*name, known, "every " + kind));
    return std::nullopt;
  }
  Value values = Value::object();
  values["name"] = *name;
  const Owner owner{.path = path, .known_as = kind + " " + *name, .kind = kind};
  values.update(table(without(node, "name"), spec->options, owner));
  return values;
}

// Reads one table of a list of tables that all have the same keys.
std::optional<Value> Checker::item_table(const Node& node, const Option& option, const std::string& path) const {
  if (!node.is_table()) {
    mistakes_.add(node.place, "\"" + path + "\" must be a table, not " + shown(node));
    return std::nullopt;
  }
  if (const Node* own = option.item_kind.empty() ? nullptr : node.find(option.item_kind)) {
    return table_of_own(node, *own, option, path);
  }
  const std::string known_as =
      option.item_component.empty() ? "keys of one of " + option.name : option.item_kind + " " + option.item_component;
  return table(node, option.item_keys,
               {.path = path,
                .known_as = known_as,
                .kind = option.item_component.empty() ? "" : option.item_kind,
                .section = option.name});
}

// Reads a table of such a list that names a component of its own: its other keys are that component's options.
std::optional<Value> Checker::table_of_own(const Node& node, const Node& own, const Option& option,
                                           const std::string& path) const {
  const std::string name = own.text().value_or("");
  const Spec* spec = components_.find(option.item_kind, name);
  if (!spec) {
    const std::vector<Named> known = named(components_.of(option.item_kind));
    mistakes_.add(own.place, "there is no " + option.item_kind + " " + in_quotes(name),
                  remedy_of_name(name, known, "every " + option.item_kind));
    return std::nullopt;
  }
  std::vector<Option> keys;
  for (const Option& key : option.item_keys) {
    if (key.name == "match" || key.name == option.item_kind) keys.push_back(key);
  }
  for (Option& key : options_of_group(*spec)) {
    if (key.name == "lr") key.aliases.emplace_back("lr_scale");  // of groups without an optimizer of their own
    keys.push_back(std::move(key));
  }
  return table(node, keys, {.path = path, .known_as = option.item_kind + " " + name, .section = option.name});
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
    mistakes_.add(node.place, "\"" + path + ".type\" is missing", remedy_of_name("", known, "every type"));
  } else if (!spec) {
    mistakes_.add(type_node->place, "there is no type " + in_quotes(*type), remedy_of_name(*type, known, "every type"));
  }
  if (!spec) return std::nullopt;
  Value values = Value::object();
  values["type"] = *type;
  values.update(table(without(node, "type"), spec->options, {.path = path, .known_as = *type}));
  return values;
}

// A URL stays as it is written.
std::optional<Value> Checker::url(const Node& node, const Option& option, const std::string& path) const {
  const auto text = node.scalar.get<std::string>();
  const char* schemes = option.is_made ? "use s3, gs or abfs" : "use s3, gs, abfs, http or https";
  if (has_user(text)) {
    mistakes_.add(node.place, "the URL names a user, whom the run's files would keep", kNoUser);
  } else if (!option.urls) {
    mistakes_.add(node.place, "\"" + path + "\" takes a file, not a URL", "copy the file to this machine");
  } else if (!is_url(text)) {
    mistakes_.add(node.place, "there is no scheme " + in_quotes(text.substr(0, text.find(':'))), schemes);
  } else if (option.is_made && text.starts_with("http")) {
    mistakes_.add(node.place, "\"" + path + "\" is written, and http has no writing of files", schemes);
  } else {
    return node.scalar;
  }
  return std::nullopt;
}

std::optional<Value> Checker::scalar(const Node& node, const Option& option, const std::string& path) const {
  if (node.kind == Type::text) {
    const auto text = node.scalar.get<std::string>();
    const bool known = std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end() ||
                       is_numbered(option, text) || is_of_output(option, text, components_) ||
                       (!option.open_prefix.empty() && text.starts_with(option.open_prefix));
    if (!option.choices.empty() && !known) return wrong(node, option, path);
    if (!option.form.empty() && !text_form(option.form).fits(text)) return wrong(node, option, path);
    if (!names_file(option, text)) return node.scalar;
    if (has_url_form(text)) return url(node, option, path);
    return path_or_run(node, option);
  }
  const double number = node.scalar.get<double>();
  if (!std::isfinite(number) || !option.range.holds(number)) return wrong(node, option, path);
  const bool is_integer = takes_type(option, Type::integer);
  return node.kind == Type::integer && is_integer ? node.scalar : Value(number);
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
  const bool is_finite = node.kind != Type::number || std::isfinite(node.scalar.get<double>());
  if (node.kind == Type::date || !is_finite) {
    mistakes_.add(node.place, "\"" + path + "\" must not be " + shown(node));
    return std::nullopt;
  }
  if (node.kind == Type::list) return list(node, {.name = path, .types = {Type::list}}, path);
  if (!node.is_table()) return node.scalar;
  Value values = Value::object();
  for (const auto* entry : in_file_order(node)) {
    if (auto read = plain(entry->second, path + "." + entry->first)) values[entry->first] = std::move(*read);
  }
  return values;
}

std::nullopt_t Checker::wrong(const Node& node, const Option& option, const std::string& path) const {
  const std::string given =
      option.length && node.kind == Type::list ? "a list of " + std::to_string(node.items.size()) : shown(node);
  mistakes_.add(node.place, "\"" + path + "\" must be " + expected(option) + ", not " + given,
                remedy_of_value(node, option, path));
  return std::nullopt;
}

// Returns the nearest choice, or the keys of a section; empty: the expected form in the message is enough.
std::string Checker::remedy_of_value(const Node& node, const Option& option, const std::string& path) const {
  if (!option.section.empty()) return remedy_of_name("", named(option.section), "its keys");
  if (path == "device_pool" && node.kind != Type::list) return kPoolForms;
  const auto text = node.text();
  if (!text) return "";
  const Spec* metric = option.names_kind == "metric" && text->starts_with(kValidationPrefix)
                           ? find_metric(text->substr(kValidationPrefix.size()), components_)
                           : nullptr;
  if (metric && has_matrix(*metric)) return metric->name + " is a matrix: give a metric that is a number";
  return did_you_mean(nearest_name(*text, named_choices(option)));
}

}  // namespace ddp::config
