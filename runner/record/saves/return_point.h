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

// Returns the newest whole checkpoint; warns about newer ones that are damaged. Returns an empty path if the run has no
// complete checkpoint yet. Throws ddp::Error (usage) if it has some and all of them are damaged.
std::filesystem::path newest_whole(const std::filesystem::path& checkpoints);

// Makes the point's checkpoint the latest one, also for a resume after a kill before the next save, and cuts
// metrics.jsonl back to it.
void go_back(const RunDirectory& directory, const ReturnPoint& point);

}  // namespace ddp::record
