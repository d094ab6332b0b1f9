#include "record/saves/checkpoint_settings.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "config/load/load.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

// Returns a checkpoint's own settings; an empty path if it has none.
fs::path own_settings(const fs::path& checkpoint) {
  for (const char* name : kSettingsNames) {
    std::error_code unreadable;
    if (fs::exists(checkpoint / name, unreadable)) return checkpoint / name;
  }
  return {};
}

}  // namespace

fs::path settings_file(const RunDirectory& run, const fs::path& checkpoint) {
  const fs::path own = checkpoint.empty() ? fs::path() : own_settings(checkpoint);
  return own.empty() ? run.config() : own;
}

fs::path newest_settings(const RunDirectory& run) { return settings_file(run, latest_checkpoint(run.checkpoints())); }

std::string settings_of_checkpoint(const config::Experiment& settings) {
  config::Experiment kept = as_kept(settings);
  // The run's copies of its sources lie two folders above.
  for (std::string& source : kept.sources) source = (fs::path("..") / ".." / source).string();
  return config::to_toml(kept);
}

void keep_settings(const RunDirectory& run, const config::Experiment& settings) {
  for (const fs::path& checkpoint : complete_checkpoints(run.checkpoints())) {
    if (own_settings(checkpoint).empty()) write_settings(checkpoint, settings);
  }
}

void write_settings(const fs::path& checkpoint, const config::Experiment& settings) {
  write_atomically(checkpoint / kSettings, settings_of_checkpoint(settings));
}

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

namespace {

// With another metric or min_delta, patience starts again from zero.
bool patience_has_ended(const config::Experiment& e, const config::Value& stop) {
  const config::Value terms = {{"metric", e.metric_named(e.stop.metric).name}, {"min_delta", e.stop.min_delta}};
  if (e.stop.patience == 0 || !stop.is_object()) return false;
  for (const auto& [key, value] : terms.items()) {
    const auto then = stop.find(key);
    if (then == stop.end() || *then != value) return false;
  }
  const auto waited = stop.find("waited");
  return waited != stop.end() && waited->is_number_integer() && waited->get<std::int64_t>() >= e.stop.patience;
}

}  // namespace

bool still_ended(const config::Experiment& e, const std::string& ended_by, const config::Value& stop, double seconds) {
  if (ended_by.empty()) return false;
  if (ended_by == kPatience || ended_by == kAllSteps) return patience_has_ended(e, stop);
  if (ended_by == kMaxTime) return e.stop.seconds() && seconds >= *e.stop.seconds();
  return true;
}

}  // namespace ddp::record
