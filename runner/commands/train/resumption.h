#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/train/prepare.h"
#include "config/value.h"
#include "record/saves/return_point.h"

namespace ddp::commands {

// A run to go on with, in its directory, from one of its checkpoints: "latest", "best" or a step.
struct Resumption {
  record::RunDirectory directory;
  std::filesystem::path results;  // the root, under which --set init_from names runs
  std::vector<std::string> sets = {};
  std::string from = "latest";
  std::string typed = {};     // the command, where it takes --data-changed
  bool data_changed = false;  // changed data are taken as they are
};

// What it goes on with, and from where.
struct ResumePoint {
  Prepared prepared;
  std::filesystem::path checkpoint;  // empty: there is none yet, and the run starts over
  record::Position position;
  config::Value changes;       // of the experiment, since the run was begun or went on last: config::differences
  std::string lr_change = {};  // the effect of the changes on lr, in words; "": none

  record::ReturnPoint return_point() const { return {.checkpoint = checkpoint, .position = position}; }
  bool nothing_to_do() const;
  // The rule of [stop] that ended it there, and not its last step; empty: none did. A run that has done all of its
  // steps, and is given more, may have ended by patience.
  std::string ended_by_rule() const;
  // Says the changes, and returns them as rank::TrainRequest tells them.
  std::string told_changes() const;
};

// Before a run goes back to a checkpoint that `--from` names: says which checkpoints and which lines of metrics.jsonl
// go, and how a fork keeps them. Silent where none go.
void tell_what_goes(const Resumption& resumption, const ResumePoint& point);

// The checkpoint that `--from` names: latest, best or a step; empty: there is none yet. Throws ddp::Error (usage) where
// the run has no such checkpoint.
std::filesystem::path choose_checkpoint(const record::RunDirectory& directory, const std::string& from);

// Throws ddp::Error (usage) where the run cannot go on from there, or not with what was set.
ResumePoint find_resume_point(const Resumption& resumption, const launch::Launch& launch);

}  // namespace ddp::commands
