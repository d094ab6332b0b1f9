#pragma once

#include <filesystem>

#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::record {

// Where a run goes on from.
struct ReturnPoint {
  std::filesystem::path checkpoint = {};  // empty: there is none, and it starts over
  Position position = {};
  bool finished = false;  // all steps were done there: it is the end also of an epoch that they cut short
};

// The newest checkpoint that is whole; those before it that are not are told. Empty: there is none yet. Throws
// ddp::Error (usage) where there are some, and none is whole.
std::filesystem::path newest_whole(const std::filesystem::path& checkpoints);

// From now on its checkpoint is the newest, also for a resume after a kill before the first new one; and metrics.jsonl
// ends there.
void go_back(const RunDirectory& directory, const ReturnPoint& point);

}  // namespace ddp::record
