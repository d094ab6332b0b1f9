#include "record/saves/return_point.h"

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/shell_word.h"
#include "record/file/atomic_file.h"
#include "record/metrics/rewind.h"

namespace ddp::record {
namespace fs = std::filesystem;

namespace {

// A run that trains may replace each checkpoint while it is read.
constexpr int kMostListings = 5;

}  // namespace

fs::path newest_whole(const fs::path& checkpoints) {
  bool damaged = false;
  bool replaced = true;
  for (int listing = 0; replaced && listing < kMostListings; ++listing) {
    replaced = false;
    for (const auto& folder : up_to_latest(checkpoints)) {
      const std::string damage = damage_of(folder);
      if (damage.empty()) return folder;
      std::error_code unreadable;
      replaced = !fs::exists(folder, unreadable) && !unreadable;
      if (replaced) break;
      log::warn(folder.string() + " is skipped: " + damage);
      damaged = damaged || is_complete(folder);
    }
  }
  // Without this error the run would silently start over and lose checkpoints that a person may still repair.
  if (damaged) {
    throw usage_error("this run has no undamaged checkpoint", checkpoints.string(),
                      "bring one back from a copy, or train again in a new run: " +
                          own_command("run " + path_word(RunDirectory(checkpoints.parent_path()).config())));
  }
  return {};
}

void go_back(const RunDirectory& directory, const ReturnPoint& point) {
  if (!point.checkpoint.empty()) {
    link_atomically(directory.checkpoints() / "latest", point.checkpoint.filename().string());
  }
  rewind_metrics(directory.metrics(), point.position.step, point.position.epoch + (point.finished ? 1 : 0));
}

}  // namespace ddp::record
