#include "config/check/check.h"

#include <algorithm>

#include "config/check/common_names.h"
#include "config/check/phrases.h"

namespace ddp::config {
namespace {

const Option* find(const std::vector<Option>& options, const std::string& name) {
  const auto it =
      std::find_if(options.begin(), options.end(), [&](const Option& option) { return option.name == name; });
  return it == options.end() ? nullptr : &*it;
}

const Spec* find(const std::vector<Spec>& specs, const std::string& name) {
  const auto it = std::find_if(specs.begin(), specs.end(), [&](const Spec& spec) { return spec.name == name; });
  return it == specs.end() ? nullptr : &*it;
}

std::vector<std::string> names_of(const std::map<std::string, Spec>& specs) {
  std::vector<std::string> names;
  for (const auto& [name, spec] : specs) names.push_back(name);
  return names;
}

std::string under(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

// Leaves out the key that names the component or the variant: it is not an option of it.
Node without(const Node& table, const std::string& key) {
  Node rest = table;
  rest.entries.erase(key);
  return rest;
}

}  // namespace

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
  std::string remedy = "give " + expected(option) + (option.doc.empty() ? "" : ": " + option.doc);
  if (!option.component_kind.empty()) {
    remedy = suggestion("", names_of(components_.of(option.component_kind)), "every " + option.component_kind);
  }
  // A setting of the name alone leaves no option of the former component.
  const Node* name = given_ == nullptr ? nullptr : given_->at_path(path.substr(0, path.rfind('.')) + ".name");
  const bool renamed = name && is_of_command_line(name->place);
  if (renamed) remedy += "; with another name, give all options of the table";
  problems_.add(renamed ? name->place : node.place, "\"" + path + "\" is missing", remedy);
}

std::optional<Value> Checker::value(const Node& node, const Option& option, const std::string& path) const {
  if (!option.component_kind.empty()) return component(node, option, path);
  if (!option.section.empty()) {
    if (!node.is_table()) return misfit(node, option, path);
    return table(node, option.section, {.path = path, .known_as = "keys of [" + path + "]"});
  }
  switch (node.kind) {
    case Kind::boolean:
      return takes_type(option, Type::boolean) ? node.scalar : std::optional<Value>(misfit(node, option, path));
    case Kind::integer:
      if (takes_type(option, Type::integer)) return scalar(node, option, path);
      [[fallthrough]];
    case Kind::number:
      return takes_type(option, Type::number) ? scalar(node, option, path) : misfit(node, option, path);
    case Kind::text:
      return takes_type(option, Type::text) ? scalar(node, option, path) : misfit(node, option, path);
    case Kind::list:
      return takes_type(option, Type::list) ? list(node, option, path) : misfit(node, option, path);
    case Kind::table:
      return takes_type(option, Type::table) ? plain(node, path) : misfit(node, option, path);
    case Kind::date:
      break;
  }
  return misfit(node, option, path);
}

std::optional<Value> Checker::component(const Node& node, const Option& option, const std::string& path) const {
  if (node.text()) {
    // The name alone. At the top of a file it is a table already.
    Node named{.key = node.key, .place = node.place};
    named.entries["name"] = node;
    return component(named, option, path);
  }
  if (!node.is_table()) return misfit(node, option, path);
  const Node* name_node = node.find("name");
  std::optional<std::string> name = name_node ? name_node->text() : std::nullopt;
  if (!name_node && option.default_value.is_string()) name = option.default_value.get<std::string>();
  const std::map<std::string, Spec>& known = components_.of(option.component_kind);
  if (const Node* type = name_node ? nullptr : node.find("type"); type && type->text()) {
    const std::string meant = component_meant(option.component_kind, *type->text());
    problems_.add(type->key, "unknown key \"type\" in [" + path + "]",
                  "the name of the " + option.component_kind + " is " + path +
                      ".name: write name = " + in_quotes(meant.empty() ? *type->text() : meant));
    options_of_meant(without(node, "type"), option, path, meant);
    return std::nullopt;
  }
  if (!name && !name_node) {
    problems_.add(node.place, "\"" + path + ".name\" is missing",
                  suggestion("", names_of(known), "every " + option.component_kind));
    return std::nullopt;
  }
  if (!name) return misfit(*name_node, {.name = "name", .types = {Type::text}}, path + ".name");
  const Spec* spec = components_.find(option.component_kind, *name);
  if (!spec) {
    const std::string of_file = remedy_of_file(path, option.component_kind, *name);
    const std::string meant = common_component(option.component_kind, *name);
    problems_.add(name_node ? name_node->place : node.place,
                  "there is no " + option.component_kind + " " + in_quotes(*name),
                  !of_file.empty()
                      ? of_file
                      : suggestion(meant.empty() ? *name : meant, names_of(known), "every " + option.component_kind));
    if (of_file.empty()) {
      options_of_meant(without(node, "name"), option, path, component_meant(option.component_kind, *name));
    }
    return std::nullopt;
  }
  Value values = Value::object();
  values["name"] = *name;
  const Owner owner{.path = path, .known_as = option.component_kind + " " + *name, .kind = option.component_kind};
  values.update(table(without(node, "name"), spec->options, owner));
  return values;
}

std::string Checker::component_meant(const std::string& kind, const std::string& name) const {
  const std::vector<std::string> known = names_of(components_.of(kind));
  const std::string common = common_component(kind, name);
  return nearest(common.empty() ? name : common, known);
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
    const std::string first = option.item_keys.front().name;
    problems_.add(node.place, "\"" + path + "\" must be a table, not " + shown(node),
                  "write { " + first + " = " + (node.text() ? in_quotes(*node.text()) : "…") + ", … }");
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
  const std::vector<std::string> known = config::names_of(option.variants);
  if (!node.is_table()) {
    const std::string text = node.text().value_or("");
    const std::string remedy = remedy_of_type(option.name, text);
    const std::string type = nearest(text, known);
    problems_.add(node.place, "\"" + path + "\" must be a table, not " + shown(node),
                  remedy.empty() ? "write { type = " + in_quotes(type.empty() ? known.front() : type) + " }" : remedy);
    return std::nullopt;
  }
  const Node* type_node = node.find("type");
  if (!type_node) {
    problems_.add(node.place, "\"" + path + ".type\" is missing", suggestion("", known, "every type"));
    return std::nullopt;
  }
  const std::optional<std::string> type = type_node->text();
  if (!type) return misfit(*type_node, {.name = "type", .types = {Type::text}}, path + ".type");
  const Spec* spec = find(option.variants, *type);
  if (!spec) {
    const std::string remedy = remedy_of_type(option.name, *type);
    problems_.add(type_node->place, "there is no type " + in_quotes(*type),
                  remedy.empty() ? suggestion(*type, known, "every type") : remedy);
    return std::nullopt;
  }
  Value values = Value::object();
  values["type"] = *type;
  const Owner owner{.path = path, .known_as = *type, .kind = {}};
  values.update(table(without(node, "type"), spec->options, owner));
  return values;
}

}  // namespace ddp::config
