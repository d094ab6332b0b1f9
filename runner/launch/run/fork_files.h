#pragma once

#include <filesystem>
#include <string>

#include "launch/plan/plan.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "record/summary.h"

namespace ddp::launch {

// The start of a run that continues from another run's checkpoint.
struct Fork {
  record::Origin origin;
  std::filesystem::path checkpoint;  // of the origin
  record::Position position;         // of the checkpoint
  std::string changes;               // to the experiment, as in rank::TrainRequest
  std::string launch_id = {};        // as in record::Summary
};

// Prepares a new run's directory as a fork, before the run begins: writes the copied checkpoint, the first line of
// metrics.jsonl, and summary.json. If the command is killed later, the run can be resumed from there. Returns the
// copied checkpoint. Throws ddp::Error (usage).
std::filesystem::path write_fork(const Fork& fork, const Plan& plan, const record::RunDirectory& directory);

}  // namespace ddp::launch
