#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/cluster/nodes.h"
#include "runs/prepare.h"

namespace ddp::runs {

// A request to resume a run in its directory, from one of its checkpoints: "latest", "best" or a step.
struct ResumeRequest {
  record::RunDirectory directory;
  std::filesystem::path results;  // results folder for runs that --set init_from names
  std::vector<std::string> sets = {};
  std::string from = "latest";
  bool data_changed = false;                                   // accept changed data
  int compared_ranks = 0;                                      // only with this number of (logical) ranks, if given
  std::int64_t until_step = 0;                                 // stops after this step; 0: to the end
  std::function<void(const record::RunDirectory&)> show = {};  // shows the folder once it is written
};

// Finds out where the run stands and what has changed since, and prepares it. `forks`: with the settings of the
// checkpoint, and not of the run. Throws ddp::Error (usage) if the run cannot go on from there, or not with the new
// settings.
Prepared prepare_to_go_on(const ResumeRequest& request, const launch::Launch& launch, bool forks);

// Goes on as runs::train does. Returns the program's exit code. Throws ddp::Error (usage) if it cannot.
int resume(const ResumeRequest& request, const launch::Launch& launch, launch::Nodes* nodes);

}  // namespace ddp::runs
