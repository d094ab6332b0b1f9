#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/cluster/nodes.h"
#include "record/tags.h"
#include "runs/prepare.h"

namespace ddp::runs {

// A request for a new run that goes on from the whole state of another run's checkpoint.
struct ForkRequest {
  record::RunDirectory origin;
  std::string origin_url = {};  // of which `origin` is a copy; "": it is none
  std::string name;             // of the new run
  std::filesystem::path results;
  std::string run_id = {};             // of the new run; empty: a new one. An existing fork is resumed
  std::vector<std::string> sets = {};  // changes to the settings of the checkpoint
  std::string from = "latest";         // the checkpoint: latest, best or a step
  bool data_changed = false;           // accept changed data
  record::TagChange tags = {};
  std::function<void(const record::RunDirectory&)> show = {};  // shows the new folder once it is written
};

// Trains as runs::train does. Returns the program's exit code. Throws ddp::Error (usage) if the origin has no such
// checkpoint, or if nothing is left to train.
int fork(const ForkRequest& request, const launch::Launch& launch, launch::Nodes* nodes);

}  // namespace ddp::runs
