#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/prepare.h"
#include "record/checkpoint_index.h"
#include "record/run_directory.h"

namespace ddp::commands {

// A run to go on with, in its directory, from one of its checkpoints: "latest", "best" or a step.
struct Resumption {
  record::RunDirectory directory;
  std::vector<std::string> sets = {};
  std::string from = "latest";
};

// What it goes on with, and from where.
struct ResumePoint {
  Prepared prepared;
  std::filesystem::path checkpoint;  // empty: there is none yet, and the run starts over
  record::Position position;

  bool nothing_to_do() const { return position.step >= prepared.workload.length.steps; }
};

// Throws ddp::Error (usage) where the run cannot go on from there, or not with what was set.
ResumePoint find_resume_point(const Resumption& resumption, const launch::Launch& launch);

// From now on its checkpoint is the newest, also for a resume after a kill before the first new one; and metrics.jsonl
// ends there.
void go_back(const record::RunDirectory& directory, const ResumePoint& point);

}  // namespace ddp::commands
