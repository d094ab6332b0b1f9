#include "config/groups.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "config/experiment.h"

namespace ddp::config {
namespace {

constexpr std::string_view kNdim = "ndim";
constexpr std::string_view kComparisons[] = {"<=", ">=", "==", "<", ">"};  // the longer ones first

}  // namespace

bool Condition::holds(std::int64_t dimensions) const {
  if (comparison == "<") return dimensions < ndim;
  if (comparison == "<=") return dimensions <= ndim;
  if (comparison == ">") return dimensions > ndim;
  if (comparison == ">=") return dimensions >= ndim;
  return dimensions == ndim;
}

bool is_condition(const std::string& text) {
  return text.starts_with(kNdim) && text.size() > kNdim.size() &&
         std::string_view("<>=! ").find(text[kNdim.size()]) != std::string_view::npos;
}

std::optional<Condition> condition_of(const std::string& text) {
  std::string rest = text.substr(std::min(text.size(), kNdim.size()));
  std::erase(rest, ' ');
  for (const std::string_view comparison : kComparisons) {
    if (!is_condition(text) || !rest.starts_with(comparison)) continue;
    Condition condition{.comparison = std::string(comparison)};
    const char* const end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data() + comparison.size(), end, condition.ndim);
    if (error != std::errc{} || stop != end) return {};
    return condition;
  }
  return {};
}

std::vector<std::string> ParameterGroup::patterns() const {
  if (match.is_string()) return {match.get<std::string>()};
  return match.get<std::vector<std::string>>();
}

void ParameterGroup::fields(Fields& f) {
  f({.name = "match",
     .doc = "a pattern of parameter names such as *.bias, a condition such as ndim<2, or a list of both",
     .required = true,
     .types = {Type::text, Type::list},
     .item = Type::text},
    match);
  f({.name = "lr_scale", .doc = "factor of the learning rate in each step", .range = at_least(0)}, lr_scale);
}

std::vector<ParameterGroup> parameter_groups(const Experiment& experiment) {
  std::vector<ParameterGroup> groups;
  for (const Value& table : experiment.groups) {
    groups.push_back(read<ParameterGroup>(table));
    for (const auto& [key, value] : table.items()) {
      if (key != "match" && key != "lr_scale") groups.back().options[key] = value;
    }
  }
  return groups;
}

void supply_group_keys(std::vector<Option>& options, const Components& components, const std::string& optimizer) {
  const auto groups = std::find_if(options.begin(), options.end(), [](const Option& o) { return o.name == "groups"; });
  if (groups == options.end()) return;
  std::vector<Option>& keys = groups->item_keys;
  for (const auto& [name, spec] : components.of("optimizer")) {
    if (!optimizer.empty() && name != optimizer) continue;
    for (Option option : spec.options) {
      const bool is_known =
          std::any_of(keys.begin(), keys.end(), [&](const Option& o) { return o.name == option.name; });
      if (option.name == "lr" || is_known) continue;
      option.default_value = {};
      option.required = false;
      keys.push_back(std::move(option));
    }
  }
}

}  // namespace ddp::config
