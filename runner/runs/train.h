#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/cluster/nodes.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/start/held_data.h"
#include "rank/verbs.h"
#include "record/run_directory.h"
#include "record/shared_progress.h"
#include "runs/standing.h"

namespace ddp::runs {

// A run to train: what, from where, and into which directory. Every command starts its runs with it.
struct Run {
  Standing& standing;
  launch::Plan plan;
  const launch::RankLibrary& library;
  const launch::HeldData& data;
  // Makes the run's directory, or brings it back to where the run stands. Called once, in the process that writes the
  // run, when all nodes are ready; nothing is written before.
  std::function<void(Standing&)> open;
  std::filesystem::path experiment_folder = {};  // the folder whose git state is recorded
  // Called once, when the directory contains config.toml and summary.json.
  std::function<void(const record::RunDirectory&)> begun = {};
  std::int64_t until_epoch = 0;    // pauses there, to continue later; 0: trains to the end
  std::int64_t until_step = 0;     // the same after a step
  std::int64_t profile_steps = 0;  // profiles so many steps; 0: none
  // The locks of its GPUs, which the ranks keep open; not given: node 0 takes them.
  std::optional<std::vector<FileDescriptor>> device_locks = {};
  std::optional<config::Value> git = {};                       // the checkout's state, if already known
  std::function<void(const record::RunProgress&)> watch = {};  // receives the progress a few times a second
};

// A run as node 0 has resolved it, for the other nodes.
struct Work {
  std::string experiment = {};
  config::Value sources = {};  // hashes of their texts
  std::string graphs_of = {};  // the folder of the run whose copies of graphs it reads; "": none

  void fields(config::Fields& f) {
    f({.name = "experiment"}, experiment);
    f({.name = "sources", .types = {config::Type::table}}, sources);
    f({.name = "graphs_of"}, graphs_of);
  }
};

// Trains, and writes config.toml and summary.json. `nodes`: the other nodes, if this process is node 0: it forks its
// ranks, watches all ranks to their end, and restarts them after a failure if the launch allows it. Null: this process
// is one rank that torchrun or srun started. Returns the program's exit code: 0 done, 1 failed, 128 + n stopped by
// signal n after saving.
int train(Run run, launch::Nodes* nodes);

// The same as one rank that torchrun or srun started: this process. It has no parent process of ddp-exp, so it handles
// signals itself and prints on its own stderr. Rank 0 writes the results.
int train_launched(const Run& run);

// Writes summary.json of a run that ended or stopped where it stands, if it was killed between its last checkpoint and
// the summary.
void settle(const launch::Plan& plan, const Standing& standing);

}  // namespace ddp::runs
