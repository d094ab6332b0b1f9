#include "tensorboard/hyper_parameters.h"

#include <string>

namespace ddp::tensorboard {
namespace {

// `x = "name"` is short for [x] with name = "name"; it is shown in this form too.
std::string name_of(const std::string& section, const std::string& key) {
  if (section.empty()) return key;
  return key == "name" ? section : section + "." + key;
}

void flatten(const config::Value& table, const std::string& section, config::Value& flat) {
  for (const auto& [key, value] : table.items()) {
    const std::string name = name_of(section, key);
    if (value.is_object()) {
      flatten(value, name, flat);
    } else if (value.is_array()) {
      flat[name] = value.dump();
    } else {
      flat[name] = value;
    }
  }
}

config::Value flat(const config::Value& table) {
  config::Value flat = config::Value::object();
  flatten(table, "", flat);
  return flat;
}

}  // namespace

config::Value hyper_parameters(const config::Experiment& experiment) {
  const config::Value defaults = flat(config::write(config::Experiment{}));
  const config::Value written = config::write(experiment);
  config::Value shown = config::Value::object();
  for (const auto& [key, value] : written.items()) {
    if (key == "name") continue;  // the run's name shows it
    // Only the table of a component has a name.
    const bool always = key == "seed" || (value.is_object() && value.contains("name"));
    const config::Value of_key = flat({{key, value}});
    for (const auto& [name, entry] : of_key.items()) {
      if (always || !defaults.contains(name) || defaults[name] != entry) shown[name] = entry;
    }
  }
  return shown;
}

}  // namespace ddp::tensorboard
