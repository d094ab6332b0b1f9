#include "record/saves/whole_checkpoint.h"

#include <algorithm>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/shell_word.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

// A run that trains may replace each checkpoint while it is read.
constexpr int kMostListings = 5;

struct Found {
  fs::path whole;        // empty: none
  bool damaged = false;  // a complete checkpoint was skipped
};

// Returns the first whole checkpoint of a list, which is made again if one of its checkpoints was replaced meanwhile.
Found first_whole(const std::function<std::vector<fs::path>()>& list) {
  Found found;
  bool replaced = true;
  for (int listing = 0; replaced && listing < kMostListings; ++listing) {
    replaced = false;
    for (const auto& folder : list()) {
      const std::string damage = damage_of(folder);
      if (damage.empty()) return {.whole = folder, .damaged = found.damaged};
      std::error_code unreadable;
      replaced = !fs::exists(folder, unreadable) && !unreadable;
      if (replaced) break;
      log::warn(folder.string() + " is skipped: " + damage);
      found.damaged = found.damaged || is_complete(folder);
    }
  }
  return found;
}

std::string remedy_without_whole(const fs::path& checkpoints) {
  return "bring one back from a copy, or train again in a new run: " +
         own_command("run " + path_word(RunDirectory(checkpoints.parent_path()).config()));
}

fs::path require_found(const Found& found, const fs::path& checkpoints) {
  // Without this error the run would silently start over and lose checkpoints that a person may still repair.
  if (found.whole.empty() && found.damaged) {
    throw usage_error("this run has no undamaged checkpoint", checkpoints.string(), remedy_without_whole(checkpoints));
  }
  return found.whole;
}

}  // namespace

fs::path newest_whole(const fs::path& checkpoints) {
  return require_found(first_whole([&] { return up_to_latest(checkpoints); }), checkpoints);
}

fs::path best_whole(const fs::path& checkpoints, const config::Metric& metric) {
  const auto best_first = [&] {
    std::vector<fs::path> all;
    for (const Ranked& one : best_saved_first(checkpoints, metric)) all.push_back(one.folder);
    for (const fs::path& one : up_to_latest(checkpoints)) {
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
    }
    return all;
  };
  return require_found(first_whole(best_first), checkpoints);
}

void require_whole(const fs::path& checkpoint) {
  const std::string damage = damage_of(checkpoint);
  if (damage.empty()) return;
  const fs::path checkpoints = checkpoint.parent_path();
  const std::vector<fs::path> all = up_to_latest(checkpoints);
  const bool has_whole = std::any_of(all.begin(), all.end(), [](const auto& one) { return damage_of(one).empty(); });
  throw usage_error(damage, checkpoint.string(),
                    has_whole ? "use the newest whole checkpoint: --from latest" : remedy_without_whole(checkpoints));
}

}  // namespace ddp::record
