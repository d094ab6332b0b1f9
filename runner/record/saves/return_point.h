#pragma once

#include <filesystem>

#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::record {

// The point from which a run resumes.
struct ReturnPoint {
  std::filesystem::path checkpoint = {};  // empty: no checkpoint, the run starts over
  Position position = {};
  bool finished = false;  // all steps were done: an epoch that they cut short has ended too
};

// Makes the point's checkpoint the latest one, also for a resume after a kill before the next save, and cuts
// metrics.jsonl back to it.
void go_back(const RunDirectory& directory, const ReturnPoint& point);

}  // namespace ddp::record
