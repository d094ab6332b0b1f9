#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/cluster/nodes.h"
#include "launch/held/held_data.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/plan/start.h"
#include "record/progress_page.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::launch {

// The part of this process in a launch: node 0, whose ranks it forks, or one rank that torchrun or srun started. Other
// nodes do what node 0 says (launch/cluster/guest.h).
struct Part {
  const Launch& launch;
  Nodes* nodes = nullptr;  // the other nodes, as node 0 has them; null: this process is one rank
};

// The directory of a run that is about to train, locked, and where the run begins.
struct OpenRun {
  record::RunDirectory directory;
  FileDescriptor lock;
  Start start;
  bool resumed = false;      // goes on in a directory that was there
  std::string changes = {};  // of the experiment since then, as rank::TrainRequest tells them
};

// A run to start: what to train, from where, into which directory. The one way to start one, for every verb.
struct Training {
  const Plan& plan;
  const RankLibrary& library;
  const HeldData& data;
  // Opens the directory. Is called once, in the process that writes the run, as soon as all nodes are ready; until then
  // nothing is written.
  std::function<OpenRun()> open;
  std::filesystem::path experiment_folder = {};  // whose git state is recorded
  // Is called once, as soon as the directory holds config.toml and summary.json.
  std::function<void(const record::RunDirectory&)> begun = {};
  std::int64_t until_epoch = 0;  // it stops there, to go on later; 0: at its end
  // The locks of its GPUs, which the ranks keep open; not given: node 0 takes them.
  std::optional<std::vector<FileDescriptor>> device_locks = {};
  std::optional<config::Value> git = {};                       // the state of the checkout, where it is known already
  std::function<void(const record::RunProgress&)> watch = {};  // is told a few times a second how far it is
};

// Trains as this part of the launch, and writes config.toml and summary.json. Node 0 forks its ranks, watches all of
// them to their end, and starts them again where one fails and the launch says so. Returns the program's exit code: 0
// done, 1 failed, 130 or 143 stopped by a signal after saving.
int train(Training training, const Part& part);

// Has a run that stands there ended? One that did all of its steps goes on where its settings now give it more.
bool has_ended(const config::Experiment& experiment, const record::Position& position);
// Has it done its last step?
bool has_done_all_steps(const config::Experiment& experiment, const record::Position& position);

// Writes summary.json of a run that ended there, at its end or before, where a kill came between its last checkpoint
// and that.
void settle(const Plan& plan, const record::RunDirectory& directory, const record::Position& done);

}  // namespace ddp::launch
