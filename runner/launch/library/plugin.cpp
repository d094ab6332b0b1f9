#include "launch/library/plugin.h"

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "config/components.h"
#include "config/difference.h"
#include "config/load/files.h"
#include "config/option/value.h"
#include "config/text/toml.h"
#include "launch/library/compile.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin_cache.h"
#include "launch/library/rank_library.h"
#include "launch/process/child.h"
#include "rank/verbs.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_settings.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

using config::Value;

// Returns all components of a process that has loaded the plug-in in this folder, as config::Components writes them. A
// throw-away child loads it, so a crash in a constructor, or a name that is taken, ends only the child. Throws
// ddp::Error (usage) with the reason if the plug-in cannot be loaded.
Value describe_plugin(const fs::path& folder, const std::vector<fs::path>& sources) try {
  return RankLibrary::reply_in(ask_child("loading it", {}, [&](int pipe) {
    const RankLibrary ranks(/*gpus=*/false, {.folder = folder});
    const rank::Task nobody;
    ranks.answer(rank::request_for(nobody, rank::ComponentsRequest{}), pipe);
  }));
} catch (const Error& error) {
  std::string why = error.summary();
  const std::string label = "error: ";
  if (const std::size_t at = why.find(label); at != std::string::npos) why.erase(at, label.size());
  throw usage_error("compiles, but cannot be used: " + why, file_names(sources));
} catch (const Value::exception&) {
  throw usage_error("compiles, but ends the process that loads it", file_names(sources));
}

constexpr const char* kPrefix = "plugin-";
constexpr const char* kHeaders = ".headers";
constexpr std::size_t kMostKept = 100;

// plugin.json, beside the library; read before any code of the library runs.
struct PluginFile {
  std::string build;    // of the program for which it was compiled
  std::string library;  // the hash of its bytes
  std::vector<std::string> sources;
  std::vector<std::string> files;
  Value components;

  void fields(config::Fields& f) {
    f({.name = "build"}, build);
    f({.name = "library"}, library);
    f({.name = "sources"}, sources);
    f({.name = "files"}, files);
    f({.name = "components", .types = {config::Type::table}}, components);
  }
};

// A key of everything that decides the compiled result, except for the headers.
std::string key_of_sources(const Sdk& sdk, const SourceTexts& texts) {
  std::string all = build_id() + '\n' + kLibTorchVersion + '\n' + sdk.identity + '\n' + texts.hash_of_sources() + '\n';
  for (const std::string& word : sdk.command()) all += word + '\n';
  return record::hash_hex(all);
}

// The headers that the compiler found at the last compilation of these sources. The same sources and headers give the
// same list.
fs::path headers_file(const fs::path& cache, const std::string& key) { return cache / (key + kHeaders); }

fs::path folder_of(const fs::path& cache, const std::string& key, const SourceTexts& texts) {
  return cache / (kPrefix + record::hash_hex(key + texts.hash_of_all()));
}

config::Components merged(const fs::path& folder, const PluginFile& file) {
  config::Components components = config::Components::installed();
  components.add(config::Plugin{.folder = folder,
                                .hash = folder.filename().string().substr(std::string(kPrefix).size()),
                                .sources = file.sources,
                                .files = file.files},
                 config::Components::from_json(file.components));
  return components;
}

// Returns nothing if no library exists, or if it is damaged or from another build: it is then compiled again.
std::optional<config::Components> find_compiled(const fs::path& cache, const std::string& key,
                                                const std::vector<fs::path>& sources) try {
  SourceTexts texts(sources);
  const Value headers = Value::parse(record::read_text(headers_file(cache, key)));
  if (!texts.add(headers.get<std::vector<HeaderPlace>>())) return {};
  const fs::path folder = folder_of(cache, key, texts);
  const auto file = config::read<PluginFile>(Value::parse(record::read_text(folder / "plugin.json")));
  if (file.build != build_id() || file.library != record::hash_hex_of(folder / "plugin.so")) return {};
  note_use(folder);
  note_use(headers_file(cache, key));
  return merged(folder, file);
} catch (const Error&) {
  return {};
} catch (const Value::exception&) {
  return {};
}

// Compiles the sources into a cache folder, which appears complete or not at all. The caller holds the lock.
config::Components compile_into(const fs::path& cache, const std::string& key, const Sdk& sdk, SourceTexts texts) {
  const UnfinishedFolder made(cache / key);
  const std::vector<HeaderPlace> headers = compile(sdk, cache, texts, made.path());
  if (!texts.add(headers) || texts.changed()) {
    throw usage_error("has changed while it was compiled", texts.sources().front().string(), "try again");
  }
  const Value components = describe_plugin(made.path(), texts.sources());
  const std::vector<std::string> names = texts.names();
  const auto end_of_sources = names.begin() + static_cast<std::ptrdiff_t>(texts.sources().size());
  const PluginFile file{.build = build_id(),
                        .library = record::hash_hex_of(made.path() / "plugin.so"),
                        .sources = {names.begin(), end_of_sources},
                        .files = names,
                        .components = components};
  texts.write(config::Plugin{.folder = made.path()}.texts());
  record::write_atomically(made.path() / "plugin.json", config::write(file).dump());
  const fs::path folder = folder_of(cache, key, texts);
  paths::remove_all(folder);  // it may be damaged
  paths::rename(made.path(), folder);
  record::write_atomically(headers_file(cache, key), Value(headers).dump());
  paths::remove_oldest(cache, kPrefix, "", kMostKept);
  paths::remove_oldest(cache, "", kHeaders, kMostKept);
  return merged(folder, file);
}

// Returns the components that an experiment can name: the installed ones, and those registered by the files of
// `sources`. The files are compiled into one library if they, or headers that they include from their own folders, have
// changed; it is kept in the cache folder. This process never loads the library: a throw-away child reports its
// components. The compiler's output goes to stderr. Throws ddp::Error (usage) if a file does not compile or cannot be
// loaded, and Stopped.
config::Components components_with(const std::vector<fs::path>& sources) {
  if (sources.empty()) return config::Components::installed();
  const Sdk sdk = read_sdk();
  const fs::path cache = plugin_cache();
  const SourceTexts texts(sources);
  const std::string key = key_of_sources(sdk, texts);
  if (auto known = find_compiled(cache, key, sources)) return *known;
  const FileDescriptor lock = lock_entry(cache / key);
  if (auto known = find_compiled(cache, key, sources)) return *known;
  remove_unfinished(cache);
  return compile_into(cache, key, sdk, texts);
}

config::Components components_of(const fs::path& file, const std::vector<std::string>& sets) {
  std::vector<fs::path> sources;
  for (const config::NamedSource& source : config::named_sources(file, sets)) {
    const auto refuse = [&source](const std::string& what, const std::string& remedy) {
      const std::string named = what + ": " + config::printable(source.path) + "\n" + config::excerpt(source.place);
      throw usage_error(named, config::where(source.place), remedy);
    };
    std::error_code unreadable;
    if (!fs::is_regular_file(source.path, unreadable)) {
      refuse("there is no such file", "a relative path starts at the folder of the file that gives it");
    }
    if (fs::path(source.path).extension() == ".py") {
      refuse("a file of Python cannot be compiled",
             "sources are C++ files; a model in Python is exported: python/export_model.py writes a .pt2 file");
    }
    sources.emplace_back(source.path);
  }
  return components_with(sources);
}

constexpr const char* kOriginsFile = "origins.json";  // {"my_model.cpp": "/home/me/my_model.cpp"}

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
  write_changed(folder / kOriginsFile, origins.dump(1, ' ', false, Value::error_handler_t::replace) + "\n");
}

Value read_origins(const fs::path& file) try {
  const Value origins = Value::parse(record::read_text(file), nullptr, /*allow_exceptions=*/false);
  return origins.is_object() ? origins : Value::object();
} catch (const Error&) {
  return Value::object();
}

}  // namespace

config::Loaded load_experiment(const fs::path& file, const std::vector<std::string>& sets) {
  config::Loaded loaded = config::load(file, sets, components_of(file, sets));
  // Former versions, whose runs did not have the key, drew the test after validation.
  const auto is_beside = [&](const char* name) {
    std::error_code unreadable;
    return fs::exists(file.parent_path() / name, unreadable);
  };
  if (!loaded.given("test.seed") && (is_beside("summary.json") || is_beside("state.json"))) {
    loaded.experiment.test.seed = config::Test::kSeedOfValidation;
  }
  return loaded;
}

config::LoadedSweep load_sweep(const fs::path& file, const std::vector<std::string>& sets) {
  return config::load_sweep(file, sets, components_of(file, sets));
}

config::LoadedSweep load_race(const fs::path& a, const fs::path& b, const std::vector<std::string>& sets,
                              const config::RaceRules& rules) {
  return config::load_race(a, b, sets, rules, components_of(a, sets));
}

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

void require_sources_of(const Value& hashes, const config::Experiment& experiment) {
  const auto differs = config::first_difference(hashes, record::hashes_of_texts(experiment));
  if (!differs) return;
  throw usage_error("differs on this machine from the one on node 0", differs->key,
                    "give all machines the same files, for example in a shared folder");
}

}  // namespace ddp::launch
