#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/plan/plan.h"
#include "record/progress_page.h"
#include "record/summary.h"

namespace ddp::launch {

// The last lines of a file, so many at most.
std::deque<std::string> last_lines(const std::filesystem::path& file, std::size_t most);

// The summary of a run as it starts. `devices_elsewhere`: of the ranks of other machines.
record::Summary summary_of(const Plan& plan, const std::vector<std::string>& devices_elsewhere);

// A run that goes on has the epochs behind it too, and a fork the checkpoint that it began with.
void remember_epochs(record::RunProgress& run, const record::RunDirectory& directory, const config::Experiment& e);

// Takes over, from the summary.json of a run that goes on, the time when it began, the number of restarts, and the
// origin of a fork.
void keep_history(record::Summary& summary, const record::RunDirectory& directory);

// Writes what a run has from its begin: the texts of its sources, summary.json and, last, config.toml. Returns the
// summary. Throws ddp::Error where one cannot be written; of a new run nothing stays then. `launch_id`: of the ranks
// that a launcher started.
record::Summary begin_run(const Plan& plan, const record::RunDirectory& directory,
                          const std::vector<std::string>& devices_elsewhere = {}, const std::string& launch_id = "");

// "rank 3 (cpu): what, its last lines, its log", or what failed that was no rank.
std::string in_words(record::Failure failure, const record::RunDirectory& directory, const record::Summary& summary);

// How far it came.
void add_progress(record::Summary& summary, const record::RunProgress& run, const config::Experiment& e);

// The program's exit code and, of a failure, its text.
struct Ending {
  int exit_code = 0;
  std::string why = {};
};
int exit_code_of(int stop_signal);

// How it ended: decides the status from the failure and the signal that asked for a stop (0: none), writes
// summary.json, and tells a person.
Ending conclude(const record::RunDirectory& directory, record::Summary& summary, const record::RunProgress& run,
                const std::optional<record::Failure>& failure, int stop_signal);

}  // namespace ddp::launch
