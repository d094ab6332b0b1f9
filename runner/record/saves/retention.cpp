#include "record/saves/retention.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "record/file/atomic_file.h"
#include "record/metrics/metrics_log.h"
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

std::set<std::int64_t> on_ladder(const std::vector<std::int64_t>& newest_first, std::int64_t spacing) {
  const auto rung = [&](std::size_t i) {
    return std::bit_width(static_cast<std::uint64_t>((newest_first.front() - newest_first[i]) / spacing));
  };
  std::set<std::int64_t> kept;
  for (std::size_t i = 0; i < newest_first.size(); ++i) {
    const bool is_newest = i == 0 || rung(i - 1) != rung(i);
    const bool is_oldest = i + 1 == newest_first.size() || rung(i + 1) != rung(i);
    if (is_newest || is_oldest) kept.insert(newest_first[i]);
  }
  return kept;
}

namespace {

// The checkpoints on the ladder. The newest one knows the smallest distance between two saves, unless the ladder is
// new.
std::vector<fs::path> ladder_of(const std::vector<fs::path>& newest_first) {
  std::vector<std::int64_t> steps;
  for (const auto& folder : newest_first) steps.push_back(step_of(folder));
  if (steps.size() < 2) return newest_first;
  std::int64_t spacing = steps[0] - steps[1];
  for (std::size_t i = 1; i + 1 < steps.size(); ++i) spacing = std::min(spacing, steps[i] - steps[i + 1]);
  const std::int64_t known = position_of(newest_first.front()).spacing;
  const std::set<std::int64_t> kept = on_ladder(steps, known > 0 ? std::min(known, spacing) : spacing);
  std::vector<fs::path> folders = newest_first;
  std::erase_if(folders, [&](const fs::path& folder) { return !kept.contains(step_of(folder)); });
  return folders;
}

}  // namespace

void retain(const fs::path& checkpoints, std::optional<std::int64_t> keep_last, std::int64_t keep_best) {
  std::vector<fs::path> newest_first = up_to_latest(checkpoints);
  std::erase_if(newest_first, [](const fs::path& folder) { return !is_complete(folder); });
  std::map<SaveReason, std::vector<fs::path>> saved_for;
  for (const auto& folder : newest_first) saved_for[position_of(folder).reason].push_back(folder);
  std::set<fs::path> kept;
  const auto keep = [&kept](const std::vector<fs::path>& folders, std::size_t most) {
    for (std::size_t i = 0; i < folders.size() && i < most; ++i) kept.insert(folders[i]);
  };
  keep(newest_first, 1);
  keep(by_metric(newest_first), static_cast<std::size_t>(keep_best));
  if (keep_last) {
    keep(saved_for[SaveReason::regular], static_cast<std::size_t>(*keep_last));
    keep(saved_for[SaveReason::time], 1);
  } else {
    keep(ladder_of(newest_first), newest_first.size());
  }
  for (const auto& folder : newest_first) {
    if (!kept.contains(folder)) remove_checkpoint(folder);
  }
}

namespace {

// A checkpoint's files never change, so a hard link is as good as a copy.
void copy_or_share(const fs::path& from, const fs::path& to) {
  if (link(from.c_str(), to.c_str()) == 0) return;
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error) throw usage_error("cannot be copied to " + to.string() + ": " + error.message(), from.string());
}

void copy_files(const fs::path& checkpoint, const fs::path& to) {
  std::error_code error;
  fs::remove_all(to, error);
  if (!fs::create_directories(to, error)) throw usage_error("cannot make the folder: " + error.message(), to.string());
  fs::directory_iterator entry(checkpoint, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code unreadable;
    if (entry->is_regular_file(unreadable)) copy_or_share(entry->path(), to / entry->path().filename());
  }
  if (error) throw usage_error("cannot be read: " + error.message(), checkpoint.string());
  sync_files(to);
  // The source run may still train and remove old checkpoints, perhaps this one during the copy.
  if (const std::string damage = damage_of(to); !damage.empty()) {
    throw usage_error("its copy is damaged: " + damage, checkpoint.string(),
                      "try again, or take another checkpoint with --from");
  }
}

}  // namespace

fs::path copy_checkpoint(const fs::path& checkpoint, const fs::path& checkpoints) {
  const fs::path copy = checkpoints / checkpoint.filename();
  const fs::path unfinished = checkpoints / ("." + copy.filename().string() + kUnfinished);
  try {
    copy_files(checkpoint, unfinished);
    std::error_code error;
    fs::rename(unfinished, copy, error);
    if (error) throw usage_error("cannot be put in place: " + error.message(), copy.string());
    link_atomically(checkpoints / "latest", copy.filename().string());
    sync_folder(checkpoints);
  } catch (const Error& error) {
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
    throw usage_error(error.summary(), error.where(), error.remedy());
  }
  return copy;
}

void rewind(const RunDirectory& directory, const fs::path& checkpoint, const Position& position, bool finished) {
  if (!checkpoint.empty()) link_atomically(directory.checkpoints() / "latest", checkpoint.filename().string());
  std::error_code none;
  fs::remove(directory.evaluation(), none);
  rewind_metrics(directory.metrics(), position.step, position.epoch + (finished ? 1 : 0));
}

}  // namespace ddp::record
