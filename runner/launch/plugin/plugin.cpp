#include "launch/plugin/plugin.h"

#include <unistd.h>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "launch/library/rank_library.h"
#include "launch/library/version.h"
#include "launch/plugin/cache_folder.h"
#include "launch/plugin/compile.h"
#include "launch/plugin/describe.h"
#include "launch/plugin/sdk.h"
#include "launch/plugin/source_texts.h"
#include "record/file/atomic_file.h"
#include "record/file/hash.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

using config::Value;

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

std::vector<HeaderPlace> read_headers(const fs::path& file) {
  return Value::parse(record::read_text(file)).get<std::vector<HeaderPlace>>();
}

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
  if (!texts.add(read_headers(headers_file(cache, key)))) return {};
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
  const auto begun = fs::file_time_type::clock::now();
  const std::vector<HeaderPlace> headers = compile(sdk, cache, texts, made.path());
  const bool same = SourceTexts(texts.sources()) == texts;
  if (!same || !texts.add(headers) || texts.changed_since(begun)) {
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
  remove_oldest(cache, kPrefix, "", kMostKept);
  remove_oldest(cache, "", kHeaders, kMostKept);
  return merged(folder, file);
}

}  // namespace

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

}  // namespace ddp::launch
