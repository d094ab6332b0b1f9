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

fs::path own_settings(const fs::path& checkpoint) { return checkpoint / kSettings; }

bool has_own(const fs::path& checkpoint) {
  std::error_code unreadable;
  return fs::exists(own_settings(checkpoint), unreadable);
}

}  // namespace

fs::path settings_file(const RunDirectory& run, const fs::path& checkpoint) {
  return !checkpoint.empty() && has_own(checkpoint) ? own_settings(checkpoint) : run.config();
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
    if (!has_own(checkpoint)) write_settings(checkpoint, settings);
  }
}

void write_settings(const fs::path& checkpoint, const config::Experiment& settings) {
  write_atomically(own_settings(checkpoint), settings_of_checkpoint(settings));
}

}  // namespace ddp::record
