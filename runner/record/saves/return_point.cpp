#include "record/saves/return_point.h"

#include "base/error.h"
#include "base/log.h"
#include "record/file/atomic_file.h"
#include "record/metrics/rewind.h"

namespace ddp::record {
namespace fs = std::filesystem;

fs::path newest_whole(const fs::path& checkpoints) {
  bool damaged = false;
  for (const auto& folder : up_to_latest(checkpoints)) {
    const std::string damage = damage_of(folder);
    if (damage.empty()) return folder;
    log::warn(folder.string() + " is skipped: " + damage);
    damaged = damaged || is_complete(folder);
  }
  // Without this error the run would silently start over and lose checkpoints that a person may still repair.
  if (damaged) {
    throw usage_error("this run has no undamaged checkpoint", checkpoints.string(),
                      "remove them to start the run over, or start a new one");
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
