#include "launch/library/run_copy.h"

#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "config/difference.h"
#include "config/load.h"
#include "config/text/toml.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_settings.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

using config::Value;

constexpr const char* kOriginsFile = "origins.json";  // {"my_model.cpp": "/home/me/my_model.cpp"}
constexpr const char* kSourcesMark = "# sources ";

std::string as_text(const Value& value, int indent = -1) {
  return value.dump(indent, ' ', false, Value::error_handler_t::replace);
}

void write_changed(const fs::path& file, const std::string& text) {
  std::error_code none;
  if (fs::exists(file, none) && record::read_text(file) == text) return;
  paths::make_folders(file.parent_path());
  record::write_atomically(file, text);
}

// Writes the texts into the sources folder of a run. `sources`: the compiled files.
void keep(const config::Plugin& plugin, const std::vector<std::string>& sources, const fs::path& folder) {
  for (const std::string& file : plugin.files) {
    write_changed(folder / file, record::read_text(plugin.texts() / file));
  }
  Value origins = Value::object();
  for (std::size_t i = 0; i < std::min(sources.size(), plugin.sources.size()); ++i) {
    // A resumed run uses its own copies.
    if (paths::absolute(sources[i]) == paths::absolute(folder / plugin.sources[i])) return;
    origins[plugin.sources[i]] = sources[i];
  }
  write_changed(folder / kOriginsFile, as_text(origins, 1) + "\n");
}

// Parses the hashes of sources_mark; {} if the line is none.
Value told_hashes(const std::string& told) {
  if (!told.starts_with(kSourcesMark)) return Value::object();
  const std::size_t begin = std::string(kSourcesMark).size();
  return Value::parse(told.substr(begin, told.find('\n') - begin), nullptr, /*allow_exceptions=*/false);
}

Value read_origins(const fs::path& file) try {
  const Value origins = Value::parse(record::read_text(file), nullptr, /*allow_exceptions=*/false);
  return origins.is_object() ? origins : Value::object();
} catch (const Error&) {
  return Value::object();
}

}  // namespace

std::string text_for(const config::Experiment& experiment, const record::RunDirectory& run) {
  const config::Components components = experiment.components();
  if (components.plugin().exists()) keep(components.plugin(), experiment.sources, run.sources());
  return config::to_toml(record::as_kept(experiment));
}

std::string text_for(const config::LoadedSweep& sweep, const record::RunDirectory& directory) {
  const config::Plugin& plugin = sweep.components().plugin();
  if (!plugin.exists()) return sweep.to_toml();
  Value text = sweep.to_value();
  keep(plugin, text.at("sources").get<std::vector<std::string>>(), directory.sources());
  text["sources"] = record::kept_names(plugin);
  return config::to_toml(text);
}

void tell_changed_sources(const config::Experiment& now, const record::RunDirectory& run) {
  const fs::path folder = run.sources();
  std::string sources;
  std::string changed;
  const Value origins = read_origins(folder / kOriginsFile);
  for (const auto& [name, origin] : origins.items()) {
    if (!origin.is_string()) return;
    const fs::path file = origin.get<std::string>();
    const std::string own = paths::absolute(folder / name).string();
    if (std::find(now.sources.begin(), now.sources.end(), own) == now.sources.end()) return;
    sources += (sources.empty() ? "\"" : ", \"") + file.string() + "\"";
    std::error_code none;
    if (!fs::is_regular_file(file, none) || access(file.c_str(), R_OK) != 0) continue;
    if (record::hash_hex_of(file) == record::hash_hex_of(own)) continue;
    changed += (changed.empty() ? "" : ", ") + file.string();
  }
  if (changed.empty()) return;
  log::warn(changed + " has changed since this run began; the run uses its own copy in " + folder.string() +
            "\n  to use the changed files: --set " + shell_word("sources=[" + sources + "]"));
}

std::string sources_mark(const config::Experiment& experiment) {
  const Value hashes = record::hashes_of_texts(experiment);
  return hashes.empty() ? "" : kSourcesMark + as_text(hashes) + "\n";
}

void require_sources_of(const std::string& told, const config::Experiment& experiment) {
  const auto differs = config::first_difference(told_hashes(told), record::hashes_of_texts(experiment));
  if (!differs) return;
  throw usage_error("differs on this machine from the one on node 0", differs->key,
                    "give all machines the same files, for example in a shared folder");
}

}  // namespace ddp::launch
