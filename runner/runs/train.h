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
#include "record/saves/checkpoint_index.h"
#include "record/shared_progress.h"

namespace ddp::runs {

// The locked directory of a run that is about to train, and the run's start.
struct OpenRun {
  record::RunDirectory directory;
  FileDescriptor lock;
  launch::Start start;
  bool resumed = false;      // continues in an existing directory
  std::string changes = {};  // to the experiment since then, as in rank::TrainRequest

  // Tells a rank.
  void tell(rank::Task& task, rank::TrainRequest& request) const;
};

// A run to train: what, from where, and into which directory. Every command starts its runs with it.
struct Run {
  launch::Plan plan;
  const launch::RankLibrary& library;
  const launch::HeldData& data;
  // Opens the directory. Called once, in the process that writes the run, when all nodes are ready; nothing is written
  // before.
  std::function<OpenRun()> open;
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

// Trains, and writes config.toml and summary.json. `nodes`: the other nodes, if this process is node 0: it forks its
// ranks, watches all ranks to their end, and restarts them after a failure if the launch allows it. Null: this process
// is one rank that torchrun or srun started. Returns the program's exit code: 0 done, 1 failed, 128 + n stopped by
// signal n after saving.
int train(Run run, launch::Nodes* nodes);

// The same as one rank that torchrun or srun started: this process. It has no parent process of ddp-exp, so it handles
// signals itself and prints on its own stderr. Rank 0 writes the results.
int train_launched(const Run& run);

// Returns the newest run under results/<name> that an earlier attempt of this launch began.
std::optional<record::RunDirectory> find_launched(const std::filesystem::path& runs, const std::string& launch_id);

// Returns whether a run at this position has ended. A run that did all of its steps continues if its settings now give
// it more.
bool has_ended(const config::Experiment& experiment, const record::Position& position);
// Returns whether a run at this position has done its last step.
bool has_done_all_steps(const config::Experiment& experiment, const record::Position& position);

// Writes summary.json of a run that ended or stopped at this position, if it was killed between its last checkpoint and
// the summary.
void settle(const launch::Plan& plan, const record::RunDirectory& directory, const record::Position& done);

}  // namespace ddp::runs
