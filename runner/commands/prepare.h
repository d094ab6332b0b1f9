#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "launch/rank_library.h"

namespace ddp::commands {

// An experiment that can be trained here: everything that is wrong with it was found before this is.
struct Prepared {
  config::Loaded loaded;
  launch::Plan plan;
  launch::Start start;
  std::unique_ptr<launch::RankLibrary> library;
  rank::Probe probe;
  launch::Workload workload;
};

// Plans the ranks, loads the rank library, and tries the model on one batch; says its warnings. Throws
// ddp::Error (usage): nothing was started.
Prepared prepare(config::Loaded loaded, launch::Start start = {});

// The option --set, which may be given again and again.
void add_sets(CLI::App& verb, std::vector<std::string>& sets);

}  // namespace ddp::commands
