#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "config/load/load.h"
#include "launch/plan/plan.h"
#include "rank/verbs.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/data_files.h"
#include "record/tags.h"

namespace ddp::runs {

// Where a run stands: its directory, the checkpoint from which it goes on, and its settings. A new run, a resumed run,
// a fork, a trial of a sweep, a restart of ranks and a reproduction differ only in how they make one.
struct Standing {
  record::RunDirectory directory{""};      // "": not made yet
  FileDescriptor lock = {};                // of the directory, in the process that writes the run
  bool continues = false;                  // the directory has a run already, which goes on
  std::filesystem::path checkpoint = {};   // empty: the run starts from its beginning
  record::Position position = {};          // of the checkpoint
  bool finished = false;                   // the run has ended there: only measurements may be left
  std::filesystem::path weights = {};      // of its beginning, a .safetensors file; empty: random ones
  config::Loaded loaded = {};              // the settings now
  config::Experiment before = {};          // the settings that trained the checkpoint
  config::Value changes = {};              // since `before`: config::differences; null: not compared
  std::vector<std::string> warnings = {};  // effects of the changes on lr, held-out samples and the best value

  bool has_checkpoint() const { return !checkpoint.empty(); }
  // The rule of [stop] that ended the run at the checkpoint; empty: its last step, or the run has not ended. A run with
  // all steps done that gets more steps may still be ended by patience.
  std::string ended_by_rule() const;
  // The setting that lets the run go on after that rule: "--set stop.patience=…".
  std::string weaker_rule() const;
  // The setting that trains for longer than that: "--set epochs=13, or more".
  std::string longer_run() const;
  // Prints the changes and the warnings. `plan`: of the ranks now.
  void tell_changes(const launch::Plan& plan) const;
  // Returns the changes in the form of rank::TrainRequest.
  std::string changes_as_text() const;
  // Tells a rank.
  void tell(rank::Task& task, rank::TrainRequest& request) const;
};

// Makes the folder of a new run, with these tags, and locks it. Throws ddp::Error (usage) if another process has begun
// a run there.
void create(Standing& standing, const std::filesystem::path& results, const std::string& name,
            const std::string& run_id, const record::TagChange& tags);

// Brings the directory back to where the run stands: the checkpoint becomes the latest one, and metrics.jsonl ends
// there (record::rewind). Accepts `files`, the files of the data that the run goes on with. Keeps the settings that
// trained each checkpoint before they change.
void go_back(const Standing& standing, const std::vector<record::DataFile>& files);

// Returns whether a run at this position has ended. A run that did all of its steps continues if its settings now give
// it more.
bool has_ended(const config::Experiment& experiment, const record::Position& position);
// Returns whether a run at this position has done its last step.
bool has_done_all_steps(const config::Experiment& experiment, const record::Position& position);

// Returns the checkpoint that `--from` names: latest, best or a step; an empty path if there is none yet. Throws
// ddp::Error (usage) if the run has no such checkpoint, or if it is damaged; latest is the newest whole one.
std::filesystem::path choose_checkpoint(const record::RunDirectory& directory, const std::string& from);

// Returns the settings that trained a checkpoint, with the --set of this command. Data that have moved since are taken
// from where the run's config.toml says.
config::Loaded trained_settings(const record::RunDirectory& run, const std::filesystem::path& checkpoint,
                                const std::vector<std::string>& sets);

// Returns the experiment of a run's file (record/saves/checkpoint_settings), without --set. `now`: with them.
config::Experiment experiment_before(const std::filesystem::path& file, const config::Experiment& now);

// Returns the run that a command resumes although it usually begins one: the run of --run-id, or the run that these
// ranks had begun before their launcher restarted them. Nothing: the command begins a run.
std::optional<record::RunDirectory> begun_run(const std::filesystem::path& results, const std::string& run_id,
                                              const std::string& name, const launch::Launch& launch);

}  // namespace ddp::runs
