#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/paths.h"
#include "config/check/check.h"
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

}  // namespace

bool is_numbered(const Option& option, const std::string& text) {
  const auto numbered = numbered_name(text);
  if (!numbered) return false;
  const std::string prefix = numbered->family.substr(0, numbered->family.size() - 1);
  return std::find(option.numbered.begin(), option.numbered.end(), prefix) != option.numbered.end();
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

std::optional<Value> Checker::scalar(const Node& node, const Option& option, const std::string& path) const {
  if (node.kind == Kind::text) {
    const auto text = node.scalar.get<std::string>();
    const bool known = std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end() ||
                       is_numbered(option, text);
    if (!option.choices.empty() && !known) return misfit(node, option, path);
    if (!option.form.empty() && !text_form(option.form).fits(text)) return misfit(node, option, path);
    return names_file(option, text) ? Value(path_or_run(node, option)) : node.scalar;
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
  const std::string given =
      option.length && node.kind == Kind::list ? "a list of " + std::to_string(node.items.size()) : shown(node);
  problems_.add(node.place, "\"" + path + "\" must be " + expected(option) + ", not " + given,
                remedy_of(node, option, path));
  return std::nullopt;
}

}  // namespace ddp::config
