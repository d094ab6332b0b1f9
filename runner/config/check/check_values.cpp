#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/paths.h"
#include "config/check/check.h"
#include "config/check/common_names.h"
#include "config/check/phrases.h"
#include "config/metric.h"
#include "config/option/text_form.h"

namespace ddp::config {
namespace {

bool contains(const Range& range, double number) {
  if (range.minimum && (range.minimum_excluded ? number <= *range.minimum : number < *range.minimum)) return false;
  if (range.maximum && (range.maximum_excluded ? number >= *range.maximum : number > *range.maximum)) return false;
  return true;
}

std::string joined_names(const std::vector<Option>& options) {
  std::string text;
  for (const std::string& name : config::names_of(options)) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool is_numbered(const Option& option, const std::string& text) {
  const auto numbered = numbered_name(text);
  if (!numbered) return false;
  const std::string prefix = numbered->family.substr(0, numbered->family.size() - 1);
  return std::find(option.numbered.begin(), option.numbered.end(), prefix) != option.numbered.end();
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

}  // namespace

std::string absolute_path(const Node& node, const std::string& name) {
  if (name.empty()) return name;
  return paths::absolute(node.place.source->folder() / name).string();
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

std::optional<Value> Checker::scalar(const Node& node, const Option& option, const std::string& path) const {
  if (node.kind == Kind::text) {
    const auto text = node.scalar.get<std::string>();
    const bool known = std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end() ||
                       is_numbered(option, text);
    if (!option.choices.empty() && !known) return misfit(node, option, path);
    if (!option.form.empty() && !text_form(option.form).fits(text)) return misfit(node, option, path);
    const bool is_word = std::find(option.words.begin(), option.words.end(), text) != option.words.end();
    return option.path && !is_word ? Value(path_or_run(node, option)) : node.scalar;
  }
  const double number = node.scalar.get<double>();
  if (!std::isfinite(number) || !contains(option.range, number)) return misfit(node, option, path);
  const bool is_integer = takes_type(option, Type::integer);
  return node.kind == Kind::integer && is_integer ? node.scalar : Value(number);
}

std::optional<Value> Checker::list(const Node& node, const Option& option, const std::string& path) const {
  if (option.length && node.items.size() != *option.length) return misfit(node, option, path);
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
    problems_.add(node.place, "\"" + path + "\" must not be " + shown(node));
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

std::nullopt_t Checker::misfit(const Node& node, const Option& option, const std::string& path) const {
  problems_.add(node.place, "\"" + path + "\" must be " + expected(option) + ", not " + shown(node),
                remedy_of(node, option, path));
  return std::nullopt;
}

// Returns a suggestion for a value that does not fit; empty: the expected form in the message is enough.
std::string Checker::remedy_of(const Node& node, const Option& option, const std::string& path) const {
  if (!option.section.empty()) return section_remedy(node, option, path);
  const bool lists_tables = !option.item_keys.empty() || !option.variants.empty();
  if (lists_tables && node.is_table()) return "write [[" + path + "]], with two brackets, or " + path + " = [{ … }]";
  const auto text = node.text();
  const std::string value = text ? *text : node.kind == Kind::boolean ? node.scalar.dump() : "";
  if (const std::string remedy = remedy_of_common_value(path, value); !remedy.empty()) return remedy;
  if (text && !option.component_kind.empty()) return remedy_of_file(path, option.component_kind, *text);
  if (!text) return "";
  if (takes_type(option, Type::number) && is_decimal_comma(*text)) {
    return "write a decimal point: " + std::string(*text).replace(text->find(','), 1, ".");
  }
  const Spec* metric = option.names_kind == "metric" && text->starts_with(kValidationPrefix)
                           ? find_metric(text->substr(kValidationPrefix.size()), components_)
                           : nullptr;
  if (metric && has_matrix(*metric)) return metric->name + " is a matrix: give a metric that is a number";
  const std::string measured = metric_choice(option, *text);
  const std::string near = measured.empty() ? nearest(*text, option.choices) : measured;
  const std::string meant = is_numbered(option, *text) || option.choices.empty() ? *text : near;
  if (option.item == Type::text && !takes_type(option, Type::text)) {
    return meant.empty() ? "" : "give " + path + " = [" + in_quotes(meant) + "]";
  }
  return near.empty() ? "" : "did you mean \"" + near + "\"?";
}

// Returns the remedy for a value in place of a section: the key that probably takes the value.
std::string Checker::section_remedy(const Node& node, const Option& option, const std::string& path) const {
  if (node.kind == Kind::boolean && node.scalar == false) return "leave it out";
  const std::vector<FirstKey> keys = first_keys(path);
  if (keys.empty()) return "its keys: " + joined_names(option.section);
  const auto written = [&](const FirstKey& key, const std::string& value) {
    return "write " + path + " = { " + key.key + " = " + value + " }";
  };
  for (const FirstKey& one : keys) {
    const auto key = std::find_if(option.section.begin(), option.section.end(),
                                  [&](const Option& known) { return known.name == one.key; });
    Problems misfits;
    const bool fits = Checker(options_, components_, misfits).value(node, *key, path) && misfits.empty();
    if (fits) return written(one, to_value(node).dump());
  }
  return written(keys.front(), keys.front().example);
}

}  // namespace ddp::config
