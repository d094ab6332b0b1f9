#include "config/sweep_mistakes.h"

#include <algorithm>

#include "config/check/check.h"
#include "config/check/common_names.h"

namespace ddp::config {
namespace {

constexpr std::size_t kMostChecks = 1000;

// Returns the path of a key that is known by another name or in a section; empty: it is not, or it is right.
std::string path_meant(const std::string& key, const std::vector<Option>& options, const Components& components) {
  if (key.find('.') != std::string::npos || find_option(key, options, components)) return "";
  const CommonName* const common = find_common_name(key);
  return common ? common->key : place_of_key(plain_name(key), options, components);
}

// Returns the line that varies this key with the values of the parameter.
std::string line_of(const std::string& path, const Parameter& parameter) {
  const Node list{.kind = Kind::list, .items = parameter.choices};
  return in_quotes(path) + " = " + (parameter.is_range() ? "{ min = …, max = … }" : printable(in_toml(list)));
}

}  // namespace

void take_misplaced_keys(Node& section, const Components& components, Problems& problems) {
  const std::vector<Option> own = sweep_options(components);
  const std::vector<Option> options = describe<Experiment>();
  for (auto entry = section.entries.begin(); entry != section.entries.end();) {
    const auto& [key, value] = *entry;
    const bool is_own =
        std::any_of(own.begin(), own.end(), [&, &name = key](const Option& o) { return o.name == name; });
    const std::string meant = path_meant(key, options, components);
    const std::string path = meant.empty() ? key : meant;
    if (is_own || !find_option(path, options, components)) {
      ++entry;
      continue;
    }
    const bool varies = value.kind == Kind::list || value.is_table();
    const std::string values = value.kind == Kind::list ? printable(in_toml(value)) : "{ min = …, max = … }";
    problems.add(value.key, in_quotes(key) + " is not a key of [sweep]",
                 varies ? "write it below [sweep.parameters]: " + in_quotes(path) + " = " + values
                        : in_quotes(path) + " belongs outside of [sweep]; a key that varies is in [sweep.parameters]");
    entry = section.entries.erase(entry);
  }
}

void check_varied_keys(const std::vector<Parameter>& parameters, const std::vector<Option>& options,
                       const Components& components, Problems& problems) {
  for (const Parameter& parameter : parameters) {
    const std::string path = path_meant(parameter.key, options, components);
    if (path.empty()) continue;
    const auto twice =
        std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& other) { return other.key == path; });
    const std::string way = twice == parameters.end()
                                ? " Write " + line_of(path, parameter)
                                : " " + where(twice->key_place) + " varies it already: keep one of them";
    problems.add(parameter.key_place, "unknown key " + in_quotes(parameter.key),
                 "did you mean " + in_quotes(path) + "?" + way);
  }
}

void check_experiment_of(const LoadedSweep& loaded, Problems& problems) {
  const std::vector<Parameter>& parameters = loaded.sweep.parameters;
  Point first;
  for (const Parameter& parameter : parameters) first.push_back(parameter.samples().front());
  loaded.trial(first, problems);
  std::size_t checks = 1;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Point point = first;
    for (const Node& value : parameters[i].samples()) {
      if (++checks > kMostChecks) return;
      point[i] = value;
      loaded.trial(point, problems);
    }
  }
}

}  // namespace ddp::config
