#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "completion/complete.h"
#include "launch/cluster/launcher.h"
#include "record/tags.h"
#include "report/select/query.h"
#include "report/select/row.h"
#include "runs/trained.h"

namespace ddp::commands {

using completion::completes;

// Notes how other programs call an option; the error about such a name then names the option.
std::vector<std::string>& aliases_of(const CLI::Option* option);
CLI::Option* known_as(CLI::Option* option, std::vector<std::string> aliases);

// The names of --nproc-per-node in other programs.
inline const std::vector<std::string> kNprocAliases = {"--gpus", "--num-gpus", "--num-processes"};

// Adds the repeatable option --set to a command. It overrides `what`: "the file", or "the run's setting".
void add_sets(CLI::App& verb, std::vector<std::string>& sets,
              completion::Argument argument = completion::Argument::file, const std::string& what = "the file");

// Adds the option --run-id of a command that starts a run. An empty id is refused, not taken as none.
void add_run_id(CLI::App& verb, std::string& run_id, const std::string& doc);

// Adds the option --name of a command that starts a run. An empty name is refused, not taken as none.
void add_name(CLI::App& verb, std::string& name,
              const std::string& doc = "name of the experiment, and of its folder under the results folder");

// Adds --from, which names a checkpoint.
void add_from(CLI::App& verb, std::string& from, const std::string& doc);

// Adds --status, which names a status of runs and sweeps.
void add_status(CLI::App& verb, std::string& status, const std::string& doc);

// Says that an option names the file to write. Returns the option.
CLI::Option* names_output(CLI::Option* option);

// Adds the repeatable option --tag; a text that cannot be a tag is refused.
void add_tag(CLI::App& verb, std::vector<std::string>& tags, const std::string& doc);
// Adds the repeatable option --where, and returns its conditions.
void add_where(CLI::App& verb, std::vector<std::string>& where, const std::string& doc);
std::vector<report::Condition> conditions_of(const std::vector<std::string>& where);
// Adds --tag and --note of a command that starts a run or a sweep.
void add_tags(CLI::App& verb, record::TagChange& tags);

// Returns a text as the value of a --set: a name such as 7 stays a text.
std::string as_toml(const std::string& text);

// Shared code of the commands that show results.

inline constexpr const char* kRunInWords =
    "a run's folder; name, name/run-id, name/sweep-id/007 or latest under the results folder; or a part of an id";

// Adds --results to a command: the folder that contains all runs and sweeps. An empty text is refused.
void add_results(CLI::App& verb, std::string& results,
                 const std::string& doc = "results folder: the folder of all runs and sweeps");

// Returns the run or sweep with this name. Throws ddp::Error (usage) if it does not exist or cannot be read.
report::Row find_result(const std::filesystem::path& results, const std::string& run);
// Returns the run or sweep in this folder.
report::Row read_result(const std::filesystem::path& folder, const std::filesystem::path& results);

// Adds RUN, --results, --from and --raw; `add_trained` also adds --set. `usable`: keys that this command
// uses besides the keys of the data, the devices and the arithmetic.
void add_trained_run(CLI::App& verb, runs::TrainedOptions& options);
void add_trained(CLI::App& verb, runs::TrainedOptions& options, const std::vector<std::string>& usable = {});

// Adds torchrun's launch flags to a command, each with dashes and with underscores as in torchrun.
void add_launch_flags(CLI::App& verb, launch::LaunchFlags& flags);

// Adds --max-restarts and --elastic to a command that trains.
void add_max_restarts(CLI::App& verb, launch::LaunchFlags& flags);

// Adds -v/--verbose and -q/--quiet to a command that trains. They apply as soon as the command line is read. The
// command waits for no reader of stderr.
void add_output(CLI::App& verb);

// Adds the option --jobs of a command that trains or plans a sweep.
void add_jobs(CLI::App& verb, std::optional<int>& jobs);

// Adds --format and --metrics of a table for a paper.
void add_paper_format(CLI::App& verb, std::string& format, std::vector<std::string>& metrics);

// Adds --data-changed to a command that goes on from a checkpoint.
void add_data_changed(CLI::App& verb, bool& data_changed);

// Prints the folder of a run or sweep: the only line that run, resume, fork and sweep write to stdout. If stdout does
// not accept the line, training continues, and main() reports the failure at the end.
void print_folder(const std::filesystem::path& folder);
void print_folder_of(const record::RunDirectory& run);

}  // namespace ddp::commands
