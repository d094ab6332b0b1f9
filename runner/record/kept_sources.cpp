#include "record/kept_sources.h"

#include <filesystem>

#include "record/file/hash.h"
#include "record/run_directory.h"

namespace ddp::record {
namespace fs = std::filesystem;

std::vector<std::string> kept_names(const config::Plugin& plugin) {
  std::vector<std::string> names;
  for (const std::string& source : plugin.sources) names.push_back((fs::path(kSourcesFolder) / source).string());
  return names;
}

config::Experiment as_kept(const config::Experiment& experiment) {
  config::Experiment kept = experiment;
  const config::Components components = experiment.components();
  if (components.plugin().exists()) kept.sources = kept_names(components.plugin());
  return kept;
}

config::Value hashes_of_texts(const config::Experiment& experiment) {
  const config::Components components = experiment.components();
  const config::Plugin& plugin = components.plugin();
  config::Value hashes = config::Value::object();
  for (const std::string& file : plugin.files) hashes[file] = hash_hex_of(plugin.texts() / file);
  return hashes;
}

std::string hash_of_texts(const config::Experiment& experiment) {
  const config::Value hashes = hashes_of_texts(experiment);
  if (hashes.empty()) return "";
  std::string all;
  for (const auto& [file, hash] : hashes.items()) all += file + '\0' + hash.get<std::string>() + '\n';
  return hash_hex(all);
}

}  // namespace ddp::record
