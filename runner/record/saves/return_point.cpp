#include "record/saves/return_point.h"

#include "record/file/atomic_file.h"
#include "record/metrics/rewind.h"

namespace ddp::record {

void go_back(const RunDirectory& directory, const ReturnPoint& point) {
  if (!point.checkpoint.empty()) {
    link_atomically(directory.checkpoints() / "latest", point.checkpoint.filename().string());
  }
  rewind_metrics(directory.metrics(), point.position.step, point.position.epoch + (point.finished ? 1 : 0));
}

}  // namespace ddp::record
