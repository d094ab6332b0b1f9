#include "config/load/parameter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/url.h"
#include "config/check/check.h"
#include "config/experiment.h"

namespace ddp::config {
namespace {

struct RangeOptions {
  double min = 0;
  double max = 0;
  std::optional<double> step;
  std::string scale = "linear";
  void fields(Fields& f) {
    f({.name = "min", .doc = "smallest value", .required = true}, min);
    f({.name = "max", .doc = "largest value", .required = true}, max);
    f({.name = "step", .doc = "distance between values, from min"}, step);
    f({.name = "scale", .doc = "log: spread evenly over the logarithm", .choices = {"linear", "log"}}, scale);
  }
};

// Every whole number up to it is a double.
constexpr double kMostExact = 9007199254740992.0;

// Returns six significant digits, or more if these do not tell a step from the next one, or less than a hundred values
// of a range apart. Seventeen digits tell all doubles apart.
double rounded(double number, const Parameter& p) {
  const double least = p.step > 0 ? p.step / 10 : (p.max - p.min) / 100;
  const double largest = std::max(std::abs(p.min), std::abs(p.max));
  const double needed = std::floor(std::log10(largest)) + 1 - std::floor(std::log10(least));
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", static_cast<int>(std::clamp<double>(needed, 6, 17)), number);
  return std::strtod(text, nullptr);
}

bool is_whole(double number) { return number == std::floor(number); }

// The number of steps from min to the largest value; the tolerance allows for rounding errors of step.
double steps_of(const Parameter& p) { return std::floor((p.max - p.min) / p.step + 1e-9); }

bool is_range(const Node& table) {
  return table.find("min") || table.find("max") || table.find("step") || table.find("scale");
}

const Option* option_named(const std::vector<Option>& options, const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
  return found == options.end() ? nullptr : &*found;
}

// Returns the place of the value that --set changed in the range, because the file alone is right; else `otherwise`.
SourceRange to_blame(const Node& range, const SourceRange& otherwise) {
  for (const auto& [key, value] : range.entries) {
    if (!value.place.source->is_file()) return value.place;
  }
  return otherwise;
}

// The components that sections name, or the section of the same kind at the top: {"dataset": {"npz"}}.
using ComponentNames = std::map<std::string, std::set<std::string>>;

// Returns the components of the section at this path; null: any component of its kind.
const std::set<std::string>* names_of(const std::string& section, const std::string& kind,
                                      const ComponentNames& names) {
  auto found = names.find(section);
  if (found == names.end()) found = names.find(kind);
  return found == names.end() ? nullptr : &found->second;
}

// Finds a path of keys without short forms. `begin`: the number of its characters in front of the keys of `options`.
const Option* find_path(const std::string& path, std::size_t begin, const std::vector<Option>& options,
                        const Components& components, const ComponentNames& names) {
  const std::size_t dot = path.find('.', begin);
  const Option* option = option_named(options, path.substr(begin, dot - begin));
  if (!option || dot == std::string::npos) return option;
  if (option->component_kind.empty()) return find_path(path, dot + 1, option->section, components, names);
  const std::string rest = path.substr(dot + 1);
  const std::set<std::string>* chosen = names_of(path.substr(0, dot), option->component_kind, names);
  for (const auto& [name, spec] : components.of(option->component_kind)) {
    if (chosen && !chosen->contains(name)) continue;
    if (const Option* found = option_named(spec.options, rest)) return found;
  }
  return nullptr;
}

// Returns the option of the key "optimizer.lr"; for a component's option, from a component that `names` has for its
// section; without such names, from any component of its kind that has it. Null if no such key exists.
const Option* find_option(const std::string& key, const std::vector<Option>& options, const Components& components,
                          const ComponentNames& names = {}) {
  for (const ShortForm& form : kTextForms) {
    if (key == form.section) return find_path(key + "." + form.key, 0, options, components, names);
  }
  for (const ShortForm& form : kShortForms) {
    if (key == form.key) return find_path(form.section + ("." + key), 0, options, components, names);
  }
  return find_path(key, 0, options, components, names);
}

// Reads the table of parameters.
class ParameterReader {
 public:
  ParameterReader(const std::vector<Option>& options, const Components& components, Mistakes& mistakes)
      : options_(options), components_(components), mistakes_(mistakes) {}

  void table(const Node& node, const std::string& prefix) {
    for (const auto* entry : in_file_order(node)) {
      const std::string key = prefix.empty() ? entry->first : prefix + "." + entry->first;
      const Node& value = entry->second;
      if (value.kind == Type::list) {
        list(key, value);
      } else if (value.is_table() && is_range(value)) {
        range(key, value);
      } else if (value.is_table() && takes_values(key)) {
        mistakes_.add(value.place, in_quotes(key) + " has a table without min and max",
                      "give a list of values, or { min = …, max = … }");
      } else if (value.is_table() && !value.entries.empty()) {
        table(value, key);
      } else {
        mistakes_.add(value.place, in_quotes(key) + " has one value",
                      "give a list of values, or { min = …, max = … }; a fixed value belongs outside of [sweep]");
      }
    }
  }

  std::vector<Parameter> take() { return std::move(parameters_); }

 private:
  // Is this a key with a value, not a section?
  bool takes_values(const std::string& key) const {
    const Option* const option = find_option(key, options_, components_);
    const bool is_short_form = option && option->name != key.substr(key.rfind('.') + 1);
    return option && !is_short_form && option->section.empty() && option->component_kind.empty() &&
           !takes_type(*option, Type::table);
  }

  void list(const std::string& key, const Node& values) {
    if (values.items.empty()) return mistakes_.add(values.place, in_quotes(key) + " has no values");
    add({.key = key, .key_place = values.key, .place = values.place, .choices = values.items});
  }

  void range(const std::string& key, const Node& node) {
    const std::vector<Option> keys = describe<RangeOptions>();
    const Value checked =
        Checker(keys, components_, mistakes_).check_section(node, "sweep.parameters." + key, "", "a range");
    if (!checked.contains("min") || !checked.contains("max") || !checked.contains("scale")) return;
    const auto r = read<RangeOptions>(checked);
    const auto wrong = [&](const std::string& what, const char* at) {
      mistakes_.add(to_blame(node, node.find(at) ? node.find(at)->place : node.place), in_quotes(key) + ": " + what);
    };
    const bool log = r.scale == "log";
    const bool integer = takes_integers_only(key);
    if (r.min >= r.max) return wrong("min must be less than max", "");
    if (log && r.min <= 0) return wrong("with scale = \"log\" min must be above 0", "min");
    if (integer && std::ceil(r.min) > std::floor(r.max)) return wrong("no integer lies between min and max", "");
    const double width = r.max - r.min;
    const bool exact = !integer || std::max(std::abs(r.min), std::abs(r.max)) <= kMostExact;
    if (!exact || (!log && !std::isfinite(width)) || (r.step && *r.step > 0 && width / *r.step > kMostExact)) {
      return wrong("the range is too wide", "");
    }
    if (r.step) {
      const bool fits = *r.step > 0 && *r.step <= width && (!integer || (is_whole(*r.step) && is_whole(r.min)));
      if (!fits) {
        return wrong(std::string("step must be ") + (integer ? "an integer (with an integer min), " : "") +
                         "above 0 and at most max - min",
                     "step");
      }
      if (log) return wrong("scale = \"log\" takes no step", "step");
    }
    add({.key = key,
         .key_place = node.key,
         .place = node.place,
         .min = r.min,
         .max = r.max,
         .step = r.step.value_or(0),
         .log = log,
         .integer = integer});
  }

  bool takes_integers_only(const std::string& key) const {
    const Option* option = find_option(key, options_, components_);
    return option && takes_type(*option, Type::integer) && !takes_type(*option, Type::number);
  }

  void add(Parameter parameter) {
    const auto twice = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const Parameter& other) { return other.key == parameter.key; });
    if (twice != parameters_.end()) {
      return mistakes_.add(parameter.place, in_quotes(parameter.key) + " is given twice", "keep one of them");
    }
    parameters_.push_back(std::move(parameter));
  }

  const std::vector<Option>& options_;
  const Components& components_;
  Mistakes& mistakes_;
  std::vector<Parameter> parameters_;
};

std::string within(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

// Adds the components that each section names.
void add_names(const Node& node, const std::string& section, ComponentNames& names) {
  if (const auto text = node.text()) names[section].insert(*text);
  for (const auto& [key, entry] : node.entries) {
    const bool is_name = key == "name" && entry.text() && !section.empty();
    add_names(entry, is_name ? section : within(section, key), names);
  }
}

ComponentNames named_components(const Node& base, const std::vector<Parameter>& parameters) {
  constexpr std::string_view kName = ".name";
  ComponentNames names;
  add_names(base, "", names);
  for (const Parameter& parameter : parameters) {
    const bool is_name = parameter.key.ends_with(kName);
    const std::string section = parameter.key.substr(0, parameter.key.size() - (is_name ? kName.size() : 0));
    for (const Node& value : parameter.choices) add_names(value, section, names);
  }
  return names;
}

// Calls `treat` with each value that is neither list nor table, and its key.
template <class Treat>
void each_value(Node& node, const std::string& key, const Treat& treat) {
  for (auto& [name, entry] : node.entries) each_value(entry, within(key, name), treat);
  for (Node& item : node.items) each_value(item, key, treat);
  if (!node.is_table() && node.kind != Type::list && !key.empty()) treat(node, key);
}

bool takes_only_texts(const Option& option) {
  const bool takes_others = takes_type(option, Type::boolean) || takes_type(option, Type::integer) ||
                            takes_type(option, Type::number) || !option.component_kind.empty();
  const bool takes_texts = takes_type(option, Type::text) || option.item == Type::text;
  // Neither a choice nor a form looks like a number.
  return takes_texts && !takes_others && option.choices.empty() && option.form.empty();
}

}  // namespace

Node Parameter::at(double u) const {
  if (!is_range()) {
    const auto count = static_cast<double>(choices.size());
    return value(std::min(count - 1, std::floor(u * count)));
  }
  if (step > 0) return value(min + std::floor(u * (steps_of(*this) + 1)) * step);
  // Each integer gets the part of the range from itself to the next integer.
  const double end = integer ? std::floor(max) + 1 : max;
  const double begin = integer ? std::ceil(min) : min;
  const double ratio = end / begin;
  const double drawn = !log                ? begin + (end - begin) * u
                       : std::isinf(ratio) ? std::exp(std::log(begin) + (std::log(end) - std::log(begin)) * u)
                                           : begin * std::pow(ratio, u);
  return value(integer ? std::min(std::floor(drawn), std::floor(max)) : drawn);
}

std::vector<Node> Parameter::samples() const {
  constexpr double kNearlyOne = 0.999999;
  return is_range() ? std::vector<Node>{at(0), at(kNearlyOne)} : choices;
}

Node Parameter::value(double number) const {
  if (!is_range()) return choices.at(static_cast<std::size_t>(number));
  Node node{.kind = integer ? Type::integer : Type::number, .key = place, .place = place};
  if (integer) {
    node.scalar = static_cast<std::int64_t>(number);
  } else {
    node.scalar = std::clamp(rounded(number, *this), min, max);
  }
  return node;
}

std::optional<double> Parameter::number_of(const Value& value) const {
  if (!is_range()) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (to_value(choices[i]) == value) return static_cast<double>(i);
    }
    return std::nullopt;
  }
  if (!value.is_number() || (integer && !value.is_number_integer())) return std::nullopt;
  const auto number = value.get<double>();
  return number >= min && number <= max ? std::optional(number) : std::nullopt;
}

std::vector<Parameter> read_parameters(const Node& table, const std::vector<Option>& options,
                                       const Components& components, Mistakes& mistakes) {
  ParameterReader reader(options, components, mistakes);
  reader.table(table, "");
  return reader.take();
}

void keep_texts_as_typed(Node& node, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components) {
  const std::vector<Option> options = describe<Experiment>();
  const ComponentNames names = named_components(base, parameters);
  each_value(node, "", [&](Node& value, const std::string& key) {
    const Option* option = find_option(key, options, components, names);
    if (option && takes_only_texts(*option)) value = as_typed(std::move(value));
  });
}

void make_paths_absolute(Node& node, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components) {
  const std::vector<Option> options = describe<Experiment>();
  const ComponentNames names = named_components(base, parameters);
  each_value(node, "", [&](Node& value, const std::string& key) {
    const Option* option = find_option(key, options, components, names);
    if (!option || !value.text() || !names_file(*option, *value.text()) || is_url(*value.text())) return;
    value.scalar = path_or_run(value, *option);
  });
}

}  // namespace ddp::config
