#include "record/saves/retention.h"

#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRemoved = ".removed";

// Is it one of the temporary names of this program: of the link, of accepted data, of a new or removed checkpoint?
bool is_unfinished(const std::string& name) {
  const fs::path file = name;
  if (file.extension() != kUnfinished) return false;
  const fs::path stem = file.stem();
  if (stem == "latest" || stem == kAccepted) return true;
  const std::string hidden = (stem.extension() == kRemoved ? stem.stem() : stem).string();
  return hidden.starts_with('.') && is_checkpoint_name(hidden.substr(1));
}

}  // namespace

void remove_checkpoint(const fs::path& folder) {
  // Renamed first: if a kill interrupts the removal, the rest is not taken for a checkpoint, and is found.
  const fs::path doomed = folder.parent_path() / ("." + folder.filename().string() + kRemoved + kUnfinished);
  std::error_code error;
  fs::rename(folder, doomed, error);
  if (!error) fs::remove_all(doomed, error);
  if (error) log::warn("cannot remove an old checkpoint: " + folder.string() + ": " + error.message());
}

void remove_unfinished(const fs::path& checkpoints) {
  std::error_code error;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code stays;
    const std::string name = entry->path().filename().string();
    if (is_unfinished(name)) {
      fs::remove_all(entry->path(), stays);
    } else if (is_checkpoint_name(name) && !entry->is_symlink(stays)) {
      // A resume gives the checkpoint its settings.
      for (const char* settings : kSettingsNames) {
        fs::remove(entry->path() / (std::string(settings) + kUnfinished), stays);
      }
    }
  }
}

void give_up_after(const fs::path& checkpoints, std::int64_t from, std::int64_t kept) {
  for (const auto& folder : complete_checkpoints(checkpoints)) {
    const std::int64_t step = step_of(folder);
    if (step > from && step != kept) remove_checkpoint(folder);
  }
}

void retain(const fs::path& checkpoints, std::int64_t keep_last, std::int64_t keep_best) {
  std::vector<fs::path> newest_first = up_to_latest(checkpoints);
  std::erase_if(newest_first, [](const fs::path& folder) { return !is_complete(folder); });
  std::map<SaveReason, std::vector<fs::path>> saved_for;
  for (const auto& folder : newest_first) saved_for[position_of(folder).reason].push_back(folder);
  std::set<fs::path> kept;
  const auto keep = [&kept](const std::vector<fs::path>& folders, std::int64_t most) {
    for (std::size_t i = 0; i < folders.size() && i < std::size_t(most); ++i) kept.insert(folders[i]);
  };
  keep(newest_first, 1);
  keep(saved_for[SaveReason::regular], keep_last);
  keep(by_metric(newest_first), keep_best);
  keep(saved_for[SaveReason::time], 1);
  for (const auto& folder : newest_first) {
    if (!kept.contains(folder)) remove_checkpoint(folder);
  }
}

}  // namespace ddp::record
