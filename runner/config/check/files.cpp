#include "config/check/files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/glob.h"

namespace ddp::config {
namespace {

// A chosen component with the key of its section.
using Chosen = std::pair<const char*, const Component*>;

const Spec* spec_of(const Chosen& chosen, const Components& components) {
  const std::string_view key = chosen.first;
  const std::size_t dot = key.rfind('.');
  return components.find(std::string(key.substr(dot == key.npos ? 0 : dot + 1)), chosen.second->name);
}

std::vector<Chosen> chosen_of(const Experiment& e) {
  return {{"model", &e.model},
          {"dataset", &e.dataset},
          {"validation.dataset", &e.validation.dataset},
          {"test.dataset", &e.test.dataset},
          {"loss", &e.loss},
          {"optimizer", &e.optimizer},
          {"scheduler", &e.scheduler}};
}

// Returns the files that match a glob; the path itself if none does.
std::vector<std::string> files_at(const std::string& path) {
  std::vector<std::string> paths = matching_paths(path);
  return paths.empty() ? std::vector{path} : paths;
}

// Adds the values of the options that are paths. `section` is "dataset.", or "" for top-level keys.
void add_named(std::vector<NamedFile>& files, const std::vector<Option>& options, const Value& values,
               const std::string& section) {
  for (const Option& option : options) {
    const auto value = values.find(option.name);
    if (!option.path || value == values.end()) continue;
    for (const Value& name : value->is_array() ? *value : Value::array({*value})) {
      if (!name.is_string() || name.get_ref<const std::string&>().empty()) continue;
      const auto text = name.get<std::string>();
      if (std::find(option.words.begin(), option.words.end(), text) != option.words.end()) continue;
      if (option.names_run && !std::filesystem::path(text).is_absolute()) continue;
      for (std::string& path : files_at(text)) {
        files.push_back({.key = section + option.name, .path = std::move(path)});
      }
    }
  }
}

bool is_there(const NamedFile& file) {
  std::error_code unreadable;
  return std::filesystem::exists(file.path, unreadable);
}

std::string remedy_if_missing(const Loaded& loaded, const std::string& key) {
  if (!loaded.given(key)) return "every node needs the file at this path";
  return start_of_paths(loaded.where(key));
}

Error missing(const Loaded& loaded, const NamedFile& file) {
  return loaded.error(file.key, "there is no such file: " + printable(file.path), remedy_if_missing(loaded, file.key));
}

}  // namespace

std::string start_of_paths(const std::string& where) {
  if (where.starts_with("--set")) return "a relative path in --set starts at the current folder";
  return "a relative path starts at the folder of the experiment file that gives it";
}

std::vector<NamedFile> named_files(const Experiment& e, const Components& components) {
  std::vector<NamedFile> files;
  const Value written = write(e);
  for (const Option& option : describe<Experiment>()) {
    if (!option.section.empty() && written.contains(option.name)) {
      add_named(files, option.section, written.at(option.name), option.name + ".");
    }
  }
  for (const Chosen& chosen : chosen_of(e)) {
    if (const Spec* spec = spec_of(chosen, components)) {
      add_named(files, spec->options, chosen.second->options, std::string(chosen.first) + ".");
    }
  }
  return files;
}

std::vector<std::string> default_files(const Experiment& e, const Components& components) {
  std::vector<std::string> files;
  for (const Chosen& chosen : chosen_of(e)) {
    const Spec* spec = spec_of(chosen, components);
    if (!spec) continue;
    for (const Value& name : spec->traits.value("default_files", Value::array())) {
      if (name.is_string()) files.push_back(name.get<std::string>());
    }
  }
  return files;
}

std::optional<Error> missing_file(const Loaded& loaded, const std::string& path) {
  for (const NamedFile& file : named_files(loaded.experiment, loaded.experiment.components())) {
    if (file.path == path && !is_there(file)) return missing(loaded, file);
  }
  return {};
}

std::vector<Error> missing_files(const Loaded& loaded, const Components& components) {
  std::vector<Error> errors;
  for (const NamedFile& file : named_files(loaded.experiment, components)) {
    if (!is_there(file)) errors.push_back(missing(loaded, file));
  }
  return errors;
}

}  // namespace ddp::config
