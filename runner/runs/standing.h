#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"
#include "record/saves/retention.h"
#include "record/tags.h"
#include "runs/prepare.h"
#include "runs/train.h"

namespace ddp::runs {

// The request to resume a run in its directory, from one of its checkpoints: "latest", "best" or a step.
struct Resumption {
  record::RunDirectory directory;
  std::filesystem::path results;  // results folder for runs that --set init_from names
  std::vector<std::string> sets = {};
  std::string from = "latest";
  bool data_changed = false;    // accept changed data
  bool forks = false;           // begins with the settings of the checkpoint, and not of the run
  int compared_ranks = 0;       // only with this number of (logical) ranks, if given
  std::int64_t until_step = 0;  // stops after this step; 0: to the end
  std::function<void(const record::RunDirectory&)> show = {};  // shows the folder once it is written
};

// The checkpoint from which the run resumes, and the prepared experiment.
struct ResumePoint {
  Prepared prepared;
  std::filesystem::path checkpoint;  // empty: no checkpoint yet, the run starts over
  record::Position position;
  config::Experiment before = {};          // the settings that trained the checkpoint
  config::Value changes = {};              // of `before`: config::differences
  std::vector<std::string> warnings = {};  // effects of the changes on lr, held-out samples and the best value

  bool begun() const { return !checkpoint.empty(); }
  bool nothing_to_do() const;
  // The rule of [stop] that ended the run at the checkpoint; empty: its last step, or the run has not ended. A run with
  // all steps done that gets more steps may still be ended by patience.
  std::string ended_by_rule() const;
  // The setting that lets the run go on after that rule: "--set stop.patience=…".
  std::string weaker_rule() const;
  // The setting that trains for longer than that: "--set epochs=13, or more".
  std::string longer_run() const;
  void tell_changes() const;
  // Returns the changes in the form of rank::TrainRequest.
  std::string changes_as_text() const;
};

// Before a run goes back to a checkpoint that `--from` names: reports the checkpoints and the lines of metrics.jsonl
// that it loses, and the fork that would keep them. Silent if it loses nothing.
void tell_what_goes(const Resumption& resumption, const ResumePoint& point);

// Returns the checkpoint that `--from` names: latest, best or a step; an empty path if there is none yet. Throws
// ddp::Error (usage) if the run has no such checkpoint, or if it is damaged; latest is the newest whole one.
std::filesystem::path choose_checkpoint(const record::RunDirectory& directory, const std::string& from);

// Returns the settings that trained a checkpoint, with the --set of this command. Data that have moved since are taken
// from where the run's config.toml says.
config::Loaded trained_settings(const record::RunDirectory& run, const std::filesystem::path& checkpoint,
                                const std::vector<std::string>& sets);

// Returns the experiment of a run's file (record/saves/checkpoint_settings), without --set. `now`: with them.
config::Experiment experiment_before(const std::filesystem::path& file, const config::Experiment& now);

// Throws ddp::Error (usage) if the run cannot resume from there, or not with the new settings.
ResumePoint find_resume_point(const Resumption& resumption, const launch::Launch& launch);

// Returns the run that a command resumes although it usually begins one: the run of --run-id, or the run that these
// ranks had begun before their launcher restarted them. Nothing: the command begins a run.
std::optional<record::RunDirectory> begun_run(const std::string& results, const std::string& run_id,
                                              const std::string& name, const launch::Launch& launch);

// Opens the folder of a new run, with these tags. Throws ddp::Error (usage) if another process has begun a run there.
runs::OpenRun create_run(const std::string& results, const std::string& name, const std::string& run_id,
                         const record::TagChange& tags);

// Resumes as runs::train does. Returns the program's exit code. Throws ddp::Error (usage) if it cannot.
int resume_run(const Resumption& resumption, const launch::Launch& launch, launch::Nodes* nodes);

}  // namespace ddp::runs
