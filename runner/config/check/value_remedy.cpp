#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/own_command.h"
#include "base/text_number.h"
#include "config/check/amounts.h"
#include "config/check/check.h"
#include "config/check/common_names.h"
#include "config/check/phrases.h"
#include "config/check/rules.h"
#include "config/metric.h"
#include "config/text/blanks.h"

namespace ddp::config {
namespace {

std::string joined_names(const std::vector<Option>& options) {
  std::string text;
  for (const std::string& name : config::names_of(options)) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Returns the choice that a metric's name of other programs means, or a name without its prefix: "val_r2" for "r2" if
// the option names a value of the validation. Empty: none.
std::string metric_choice(const Option& option, const std::string& text) {
  if (option.names_kind != "metric" && option.names_kind != "measure") return "";
  const bool has_prefix = text.starts_with(kValidationPrefix);
  const std::string name = has_prefix ? text.substr(kValidationPrefix.size()) : text;
  const std::string common = common_component("metric", name);
  const std::string metric = common.empty() ? name : common;
  for (const std::string& choice : {metric, kValidationPrefix + metric}) {
    const bool listed = std::find(option.choices.begin(), option.choices.end(), choice) != option.choices.end();
    if (choice != text && (listed || is_numbered(option, choice))) return choice;
  }
  return "";
}

// Returns the value that the text has without its quotes, with the place of `node`.
Node without_quotes(std::string_view text, const Node& node) {
  Node value{.kind = Kind::text, .scalar = std::string(text), .place = node.place, .varies = node.varies};
  const std::string plain = plain_name(std::string(text));
  const bool is_yes = plain == "true" || plain == "yes" || plain == "on";
  if (is_yes || plain == "false" || plain == "no" || plain == "off") {
    value.kind = Kind::boolean;
    value.scalar = is_yes;
  } else if (const auto integer = text_number<std::int64_t>(text)) {
    value.kind = Kind::integer;
    value.scalar = *integer;
  } else if (const auto number = text_number<double>(text); number && std::isfinite(*number)) {
    value.kind = Kind::number;
    value.scalar = *number;
  }
  return value;
}

// Returns a whole number as an integer, and 0 or 1 as a boolean, if the option takes these; else the value.
Node in_type_of(const Option& option, Node value) {
  if (value.kind == Kind::number && takes_type(option, Type::integer) && !takes_type(option, Type::number)) {
    const auto number = value.scalar.get<double>();
    constexpr double kMost = 1e15;
    if (number != std::floor(number) || std::abs(number) > kMost) return value;
    value.kind = Kind::integer;
    value.scalar = static_cast<std::int64_t>(number);
  } else if (value.kind == Kind::integer && takes_type(option, Type::boolean) && !takes_type(option, Type::integer)) {
    if (value.scalar != 0 && value.scalar != 1) return value;
    value.kind = Kind::boolean;
    value.scalar = value.scalar == 1;
  }
  return value;
}

// Returns a number as a text if the option takes texts, and no numbers.
Node as_text(const Option& option, Node value) {
  const bool is_number = value.kind == Kind::integer || value.kind == Kind::number;
  const bool takes_number = takes_type(option, Type::integer) || takes_type(option, Type::number);
  if (!is_number || !takes_type(option, Type::text) || takes_number) return value;
  value.kind = Kind::text;
  value.scalar = value.scalar.dump();
  return value;
}

// Returns the remedy for several values of a key that takes one.
std::string in_sweep(const std::string& path, const Node& values) {
  return "give one value; a sweep varies it: below [sweep.parameters] write " + in_quotes(path) + " = " +
         in_toml(values);
}

// Splits "city,garden". A comma beside a blank is part of a text, and so is each comma of a text that ends in one.
std::vector<std::string> texts_between_commas(const std::string& text) {
  std::vector<std::string> texts;
  std::string_view rest = text;
  for (std::size_t comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
    const std::string_view one = rest.substr(0, comma);
    rest.remove_prefix(comma + 1);
    if (one.empty() || rest.empty() || one.ends_with(' ') || rest.starts_with(' ')) return {text};
    texts.emplace_back(one);
  }
  texts.emplace_back(rest);
  return texts;
}

bool is_nothing(const std::string& text) {
  const std::string plain = plain_name(text);
  return plain == "none" || plain == "null" || plain == "nil";
}

// Returns the remedy for a validation or test that is the path of existing data; "": it is not.
std::string remedy_of_held_out(const Node& node, const std::string& path, bool in_file) {
  const auto text = node.text();
  if (!text || text->empty() || (path != "validation" && path != "test")) return "";
  const std::filesystem::path folder = node.place.source ? node.place.source->folder() : std::filesystem::path();
  std::error_code unknown;
  if (!std::filesystem::exists(folder / *text, unknown)) return "";
  if (!in_file) return "give --set " + shell_word(path + "={split=0,dataset={path=" + in_quotes(*text) + "}}");
  return "write " + path + " = { dataset = { path = " + in_quotes(*text) + " } }";
}

}  // namespace

std::vector<Node> values_in(const Node& node) {
  if (node.kind == Kind::list) return node.items;
  const auto text = node.text();
  if (!text) return {node};
  std::vector<Node> values;
  for (std::string_view rest = *text;;) {
    const std::size_t comma = rest.find(',');
    values.push_back(without_quotes(without_blanks(rest.substr(0, comma)), node));
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

// Returns a suggestion for a value that does not fit; empty: the expected form in the message is enough.
std::string Checker::remedy_of(const Node& node, const Option& option, const std::string& path) const {
  if (!option.section.empty()) return section_remedy(node, option, path);
  const bool lists_tables = !option.item_keys.empty() || !option.variants.empty();
  if (lists_tables && node.is_table()) return "write [[" + path + "]], with two brackets, or " + path + " = [{ … }]";
  const auto text = node.text();
  if (const std::string remedy = remedy_of_common_value(path, node); !remedy.empty()) return remedy;
  if (!option.component_kind.empty()) {
    return text ? remedy_of_file(path, option.component_kind, *text) : component_remedy(node, path);
  }
  if (!option.variants.empty()) return "write " + path.substr(path.rfind('.') + 1) + " = [{ type = \"…\" }]";
  if (lists_tables) return "write [[" + path + "]], and below it its keys: " + joined_names(option.item_keys);
  const auto amount = amount_meant(path, node.scalar);
  if (amount && (amount->path == path || !node.varies)) {
    Node meant = node;
    meant.scalar = amount->value;
    return "give " + as_setting(amount->path, meant);
  }
  if (const std::string remedy = text ? text_remedy(*text, node, option, path) : ""; !remedy.empty()) return remedy;
  std::string remedy = list_remedy(node, option, path);
  if (remedy.empty()) remedy = form_remedy(node, option, path);
  return remedy.empty() && path == "device_pool" && node.kind != Kind::list ? device_pool_forms() : remedy;
}

// Returns the remedy for a list of names in place of one component.
std::string Checker::component_remedy(const Node& node, const std::string& path) const {
  const bool are_names = !node.items.empty() && std::all_of(node.items.begin(), node.items.end(),
                                                            [](const Node& item) { return item.text().has_value(); });
  if (!are_names || node.varies) return "";
  return node.items.size() == 1 ? "give " + as_setting(path, node.items.front()) : in_sweep(path, node);
}

std::string Checker::text_remedy(const std::string& text, const Node& node, const Option& option,
                                 const std::string& path) const {
  if (takes_type(option, Type::number) && is_decimal_comma(text)) {
    return "write a decimal point: " + std::string(text).replace(text.find(','), 1, ".");
  }
  const Spec* metric = option.names_kind == "metric" && text.starts_with(kValidationPrefix)
                           ? find_metric(text.substr(kValidationPrefix.size()), components_)
                           : nullptr;
  if (metric && has_matrix(*metric)) return metric->name + " is a matrix: give a metric that is a number";
  const std::string measured = metric_choice(option, text);
  const std::string near = measured.empty() ? nearest(text, option.choices) : measured;
  if (option.item == Type::text && !takes_type(option, Type::text)) {
    const std::string meant = is_numbered(option, text) || option.choices.empty() ? text : near;
    if (meant.empty()) return "";
    Node list{.kind = Kind::list, .items = {}, .place = node.place, .varies = node.varies};
    for (const std::string& one : texts_between_commas(meant)) {
      list.items.push_back({.kind = Kind::text, .scalar = one, .key = node.key, .place = node.place});
    }
    return "give " + as_setting(path, list);
  }
  return near.empty() ? "" : "did you mean \"" + near + "\"?";
}

bool Checker::fits(const Node& node, const Option& option, const std::string& path) const {
  Problems misfits;
  return Checker(options_, components_, misfits).value(node, option, path) && misfits.empty();
}

// Returns the remedy for a value in place of a list, or for several values in place of one.
std::string Checker::list_remedy(const Node& node, const Option& option, const std::string& path) const {
  if (node.is_table() || node.kind == Kind::date) return "";
  Node list{.kind = Kind::list, .items = values_in(node), .place = node.place, .varies = node.varies};
  if (takes_type(option, Type::list) && (option.item || !option.form.empty())) {
    const Option item{.types = {option.item.value_or(Type::text)}};
    for (Node& value : list.items) value = in_type_of(item, std::move(value));
    return node.kind != Kind::list && fits(list, option, path) ? "give " + as_setting(path, list) : "";
  }
  const bool can_vary = !takes_type(option, Type::list) && path.find('[') == std::string::npos &&
                        !path.starts_with("sweep") && !node.varies;
  const bool several = can_vary && list.items.size() > 1;
  if (!several || !std::all_of(list.items.begin(), list.items.end(),
                               [&](const Node& value) { return fits(value, option, path); })) {
    return "";
  }
  return in_sweep(path, list);
}

// Returns the remedy for a value in another form: "3", 3.0, 1 for true, or none at all.
std::string Checker::form_remedy(const Node& node, const Option& option, const std::string& path) const {
  const auto text = node.text();
  if (text && is_nothing(*text)) return "leave it out";
  const Node* const name = node.find("name");
  if (name && fits(*name, option, path)) return "give " + as_setting(path, *name);
  if (node.is_table() || node.kind == Kind::list || node.kind == Kind::date) return "";
  const Node plain = text ? without_quotes(without_blanks(*text), node) : node;
  const Node value = as_text(option, in_type_of(option, plain));
  const bool is_other = value.kind != node.kind;
  return is_other && fits(value, option, path) ? "give " + as_setting(path, value) : "";
}

// Returns the remedy for a value in place of a section: the key that probably takes the value.
std::string Checker::section_remedy(const Node& node, const Option& option, const std::string& path) const {
  if (node.kind == Kind::boolean && node.scalar == false) return "leave it out";
  const std::vector<FirstKey> keys = first_keys(path);
  if (keys.empty()) return "its keys: " + joined_names(option.section);
  const bool in_file = node.varies || (node.place.source && node.place.source->is_file());
  if (const std::string of_data = remedy_of_held_out(node, path, in_file); !of_data.empty()) return of_data;
  const auto written = [&](const FirstKey& key, const std::string& value) {
    if (!in_file) return "give --set " + shell_word(path + "." + key.key + "=" + value);
    return "write " + path + " = { " + key.key + " = " + value + " }";
  };
  const auto text = node.text();
  const Node plain = text ? without_quotes(without_blanks(*text), node) : node;
  for (const FirstKey& one : keys) {
    const auto key = std::find_if(option.section.begin(), option.section.end(),
                                  [&](const Option& known) { return known.name == one.key; });
    for (const Node& value : {plain, node}) {
      if (fits(value, *key, path)) return written(one, in_toml(value));
    }
  }
  return written(keys.front(), keys.front().example);
}

}  // namespace ddp::config
