#include "config/check/files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/glob.h"
#include "config/suggest.h"

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

std::string hint_if_missing(const Loaded& loaded, const NamedFile& file) {
  if (const std::string near = file_like(file.path); !near.empty()) return "did you mean \"" + printable(near) + "\"?";
  if (!loaded.given(file.key)) return "every node needs the file at this path";
  const std::string where = loaded.where(file.key);
  const std::string other = file.key.ends_with(".path") && !where.starts_with("--set")
                                ? "; --set " + file.key + "=PATH names another place"
                                : "";
  return start_of_paths(where) + other;
}

Error missing(const Loaded& loaded, const NamedFile& file) {
  return loaded.error(file.key, "there is no such file: " + printable(file.path), hint_if_missing(loaded, file));
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string file_like(const std::filesystem::path& missing) {
  std::error_code error;
  std::filesystem::path known;
  for (auto part = missing.begin(); part != missing.end(); ++part) {
    if (std::filesystem::exists(known / *part, error)) {
      known /= *part;
      continue;
    }
    const std::string near = nearest_file(part->string(), names_in(known.empty() ? "." : known));
    if (near.empty()) return "";
    std::filesystem::path meant = known / near;
    for (++part; part != missing.end(); ++part) meant /= *part;
    return std::filesystem::exists(meant, error) ? meant.string() : "";
  }
  return "";
}

std::string start_of_paths(const std::string& where) {
  if (where.starts_with("--set")) return "a relative path in --set starts at the current folder";
  return "a relative path starts at the folder of the experiment file that gives it";
}

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
      add_named(files, spec->options, chosen.second->options, std::string(chosen.first) + ".");
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
