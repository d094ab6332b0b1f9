#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/cluster/nodes.h"
#include "record/tags.h"
#include "runs/prepare.h"

namespace ddp::runs {

// A request for a new run.
struct BeginRequest {
  std::filesystem::path results;
  std::string run_id = {};             // empty: a new one. An existing run is resumed
  std::vector<std::string> sets = {};  // of the command; they change a run that is resumed
  std::filesystem::path folder = {};   // of the experiment file: its git state is recorded
  record::TagChange tags = {};
  std::int64_t profile_steps = 0;                              // profiles so many steps; 0: none
  std::function<void(const record::RunDirectory&)> show = {};  // shows the folder once it is written
};

// Trains as runs::train does. Returns the program's exit code. Throws ddp::Error (usage) if it cannot.
int begin(const BeginRequest& request, config::Loaded loaded, const launch::Launch& launch, launch::Nodes* nodes);

}  // namespace ddp::runs
