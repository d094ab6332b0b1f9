#include "config/load/files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/glob.h"
#include "base/url.h"
#include "config/check/check.h"
#include "config/check/suggest.h"

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

// Adds the values of the options that are paths. `section` is "dataset.", or "" for top-level keys.
void add_named(std::vector<NamedFile>& files, const std::vector<Option>& options, const Value& values,
               const std::string& section) {
  for (const Option& option : options) {
    const auto value = values.find(option.name);
    if (value == values.end()) continue;
    for (const Value& name : value->is_array() ? *value : Value::array({*value})) {
      if (!name.is_string() || name.get_ref<const std::string&>().empty()) continue;
      const auto text = name.get<std::string>();
      if (!names_file(option, text) || option.is_made) continue;
      if (option.names_run && !std::filesystem::path(text).is_absolute()) continue;
      std::vector<std::string> paths = is_url(text) ? std::vector<std::string>() : matching_paths(text);
      if (paths.empty()) paths = {text};
      for (std::string& path : paths) files.push_back({.key = section + option.name, .path = std::move(path)});
    }
  }
}

// A look at the server tells whether a URL names something.
bool is_there(const NamedFile& file) {
  std::error_code unreadable;
  return is_url(file.path) || std::filesystem::exists(file.path, unreadable);
}

Error missing(const Loaded& loaded, const NamedFile& file) {
  std::string remedy = did_you_mean(printable(file_like(file.path)));
  if (remedy.empty() && !loaded.given(file.key)) remedy = "every node needs the file at this path";
  if (remedy.empty()) {
    const bool by_set = loaded.where(file.key).starts_with("--set");
    remedy = by_set ? "a relative path starts at the folder of the command"
                    : "a relative path starts at the folder of the file that gives it; --set " + file.key +
                          "=PATH names another place";
  }
  return loaded.error(file.key, "there is no such file: " + printable(file.path), remedy);
}

}  // namespace

std::vector<NamedFile> named_files(const Experiment& e) {
  const Components components = e.components();
  std::vector<NamedFile> files;
  const Value written = write(e);
  for (const Option& option : describe<Experiment>()) {
    if (!option.section.empty() && written.contains(option.name)) {
      add_named(files, option.section, written.at(option.name), option.name + ".");
    }
  }
  for (const Chosen& chosen : chosen_of(e)) {
    if (const Spec* spec = spec_of(chosen, components)) {
      add_named(files, spec->options, chosen.second->with_copies(), std::string(chosen.first) + ".");
    }
    for (const Object& object : chosen.second->objects) {
      for (NamedFile& file : files) {
        if (file.path == object.file) file.object = object;
      }
    }
  }
  return files;
}

std::vector<std::string> default_files(const Experiment& e) {
  const Components components = e.components();
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

Error at_model_option(const Loaded& loaded, const Error& error) {
  for (const NamedFile& file : named_files(loaded.experiment)) {
    if (!file.key.starts_with("model.") || file.path != error.where()) continue;
    return loaded.error(file.key, file.path + ": " + error.summary(), error.remedy());
  }
  return error;
}

std::optional<Error> missing_file(const Loaded& loaded, const std::string& path) {
  for (const NamedFile& file : named_files(loaded.experiment)) {
    if (file.path == path && !is_there(file)) return missing(loaded, file);
  }
  return {};
}

std::vector<Error> missing_files(const Loaded& loaded) {
  std::vector<Error> errors;
  for (const NamedFile& file : named_files(loaded.experiment)) {
    if (!is_there(file)) errors.push_back(missing(loaded, file));
  }
  return errors;
}

}  // namespace ddp::config
