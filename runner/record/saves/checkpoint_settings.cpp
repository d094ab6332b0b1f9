#include "record/saves/checkpoint_settings.h"

#include <string>
#include <system_error>

#include "config/load.h"
#include "record/file/atomic_file.h"
#include "record/kept_sources.h"
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

}  // namespace ddp::record
