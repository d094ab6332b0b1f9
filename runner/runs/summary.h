#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "config/option/value.h"
#include "launch/plan/plan.h"
#include "launch/process/program.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/graphs.h"
#include "record/shared_progress.h"
#include "record/summary.h"

namespace ddp::runs {

// {"commit": "…", "dirty": false} of the git checkout that contains the folder; null if it is in no checkout, or git is
// not installed. The answer is read while the run trains, because git may take longer than the start of a run.
class GitState {
 public:
  // Starts git, if it is installed. Throws ddp::Error (training) if no descriptor is left.
  explicit GitState(const std::filesystem::path& folder);

  int output() const { return git_.output(); }
  bool read() { return git_.read(); }
  // Waits briefly for the rest of git's answer; null if it does not come.
  config::Value result();

 private:
  launch::Program git_;
};

// Returns the last lines of a file, at most `most`.
std::deque<std::string> last_lines(const std::filesystem::path& file, std::size_t most);

// Makes the summary of a starting run. `devices_elsewhere`: devices of ranks on other machines.
record::Summary summary_of(const launch::Plan& plan, const std::vector<std::string>& devices_elsewhere);

// Restores the last metrics from earlier epochs of a resumed run.
void remember_epochs(record::RunProgress& run, const record::RunDirectory& directory, const config::Experiment& e);

// Copies from a resumed run's summary.json its start time, the number of restarts, the parameter counts, and a fork's
// origin.
void keep_history(record::Summary& summary, const record::RunDirectory& directory);

// Writes the files of a beginning run: the texts of its sources, its graphs, summary.json and, last, config.toml.
// Returns the summary. Throws ddp::Error if a file cannot be written; a new run then leaves no files.
record::Summary begin_run(const launch::Plan& plan, const std::vector<record::KeptGraph>& graphs,
                          const record::RunDirectory& directory,
                          const std::vector<std::string>& devices_elsewhere = {});

// Describes a failure: "rank 3 (cpu): what, the last lines of rank 3, the log of rank 3"; without a rank, only what
// failed.
std::string in_words(record::Failure failure, const record::RunDirectory& directory, const record::Summary& summary);

// Adds the run's progress, and the figures of its best checkpoint from its files.
void add_progress(record::Summary& summary, const record::RunProgress& run, const record::RunDirectory& directory,
                  const config::Experiment& e);

// The program's exit code and, for a failure, its text.
struct Ending {
  int exit_code = 0;
  std::string why = {};
};
int exit_code_of(int stop_signal);

// Ends a run: decides its status from the failure and the stop signal (0: none), writes summary.json, and prints the
// result. A stopped run tells how it continues in the same launch.
Ending conclude(const record::RunDirectory& directory, record::Summary& summary, const record::RunProgress& run,
                const std::optional<record::Failure>& failure, int stop_signal, const launch::Launch& launch);

}  // namespace ddp::runs
