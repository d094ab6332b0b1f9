#include "config/check/files.h"

#include <filesystem>
#include <utility>

namespace ddp::config {
namespace {

using Chosen = std::pair<const char*, const Component*>;

std::vector<Chosen> chosen_of(const Experiment& e) {
  return {{"model", &e.model},
          {"dataset", &e.dataset},
          {"loss", &e.loss},
          {"optimizer", &e.optimizer},
          {"scheduler", &e.scheduler}};
}

// Adds the values of those options that are paths. `section` is "dataset.", or "" for top-level keys.
void add_named(std::vector<NamedFile>& files, const std::vector<Option>& options, const Value& values,
               const std::string& section) {
  for (const Option& option : options) {
    const auto value = values.find(option.name);
    if (!option.path || value == values.end()) continue;
    for (const Value& name : value->is_array() ? *value : Value::array({*value})) {
      if (name.is_string() && !name.get_ref<const std::string&>().empty()) {
        files.push_back({.key = section + option.name, .path = name.get<std::string>()});
      }
    }
  }
}

}  // namespace

std::vector<NamedFile> named_files(const Experiment& e, const Components& components) {
  std::vector<NamedFile> files;
  add_named(files, describe<Experiment>(), write(e), "");
  for (const auto& [kind, component] : chosen_of(e)) {
    if (const Spec* spec = components.find(kind, component->name)) {
      add_named(files, spec->options, component->options, std::string(kind) + ".");
    }
  }
  return files;
}

std::vector<std::string> default_files(const Experiment& e, const Components& components) {
  std::vector<std::string> files;
  for (const auto& [kind, component] : chosen_of(e)) {
    const Spec* spec = components.find(kind, component->name);
    if (!spec) continue;
    for (const Value& name : spec->traits.value("default_files", Value::array())) {
      if (name.is_string()) files.push_back(name.get<std::string>());
    }
  }
  return files;
}

std::vector<Error> missing_files(const Loaded& loaded, const Components& components) {
  std::vector<Error> errors;
  for (const NamedFile& file : named_files(loaded.experiment, components)) {
    std::error_code unreadable;
    if (std::filesystem::exists(file.path, unreadable)) continue;
    errors.push_back(loaded.error(file.key, "there is no such file: " + printable(file.path),
                                  "a relative path starts at the folder of the experiment file that gives it"));
  }
  return errors;
}

}  // namespace ddp::config
