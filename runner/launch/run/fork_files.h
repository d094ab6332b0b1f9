#pragma once

#include <filesystem>
#include <string>

#include "launch/plan/plan.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "record/summary.h"

namespace ddp::launch {

// The begin of a run that goes on from a checkpoint of another run.
struct Fork {
  record::Origin origin;
  std::filesystem::path checkpoint;  // of the origin
  record::Position position;         // there
  std::string changes;               // of the experiment, as rank::TrainRequest tells them
  std::string launch_id = {};        // as record::Summary has it
};

// Writes into a new run's directory, before the run has begun, what makes it a fork: the copied checkpoint, the first
// line of metrics.jsonl, and summary.json. A kill at any later time leaves a run that goes on from there. Returns the
// copied checkpoint. Throws ddp::Error (usage).
std::filesystem::path write_fork(const Fork& fork, const Plan& plan, const record::RunDirectory& directory);

}  // namespace ddp::launch
