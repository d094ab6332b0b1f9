#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/prepare.h"
#include "record/return_point.h"

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

  record::ReturnPoint return_point() const { return {.checkpoint = checkpoint, .position = position}; }
  bool nothing_to_do() const { return position.step >= prepared.workload.length.steps; }
};

// Throws ddp::Error (usage) where the run cannot go on from there, or not with what was set.
ResumePoint find_resume_point(const Resumption& resumption, const launch::Launch& launch);

}  // namespace ddp::commands
