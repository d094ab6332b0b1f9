#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/cluster/meeting_point.h"
#include "launch/cluster/nodes.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "record/progress_page.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::launch {

// A planned run and the directory that it writes, which this process has locked; and the other nodes that take part.
struct Training {
  const Plan& plan;
  const RankLibrary& library;
  Nodes& nodes;
  const Launch& launch;
  MeetingPoint meeting;  // of the ranks that are started next
  record::RunDirectory directory;
  FileDescriptor lock;
  std::filesystem::path experiment_folder;  // whose git state is recorded
  bool resumed = false;                     // goes on in a directory that was there
  std::string changes = {};                 // of the experiment since then, as rank::Task tells them
  Start start;
  std::function<void()> begun = {};  // is called once, as soon as the folder holds config.toml and summary.json
  std::int64_t until_epoch = 0;      // it stops there, to go on later; 0: at its end
  std::vector<FileDescriptor> device_locks = {};               // of GPUs; the ranks keep them open
  std::optional<config::Value> git = {};                       // the state of the checkout, where it is known already
  std::function<void(const record::RunProgress&)> watch = {};  // is told a few times a second how far it is
};

// Trains: writes config.toml and summary.json, forks the ranks, watches them to their end, and starts them again where
// one fails and the launch says so. Returns the program's exit code: 0 done, 1 failed, 130 or 143 stopped by a signal
// after saving.
int train(Training training);

// Has a run that stands there ended? One that did all of its steps goes on where its settings now give it more.
bool has_ended(const config::Experiment& experiment, const record::Position& position);

// Writes summary.json of a run that ended there, at its end or before, where a kill came between its last checkpoint
// and that.
void settle(const Plan& plan, const record::RunDirectory& directory, const record::Position& done);

}  // namespace ddp::launch
