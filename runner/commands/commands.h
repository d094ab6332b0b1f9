#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ddp::commands {

// Reads the command line and runs its verb. Returns the exit code of the program; errors are told on stderr.
int run_command(int argc, char** argv);

// Each adds one verb to the command line. When the verb was given, its callback runs it and stores the
// exit code of the program.
void add_run(CLI::App& app, int& exit_code);
void add_resume(CLI::App& app, int& exit_code);
void add_fork(CLI::App& app, int& exit_code);
void add_sweep(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_validate(CLI::App& app, int& exit_code);
void add_list(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_models(CLI::App& app, int& exit_code);
void add_datasets(CLI::App& app, int& exit_code);
void add_schema(CLI::App& app, int& exit_code);
void add_slurm(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_comm(CLI::App& app, int& exit_code);
// What `schema` can print.
std::vector<std::string> schema_names();
void add_completion(CLI::App& app, int& exit_code);

// Prints what the last word of a command line may become, a line each: "word", or "word<tab>what it is". The shells'
// scripts ask `ddp-exp __complete` with the words behind the program's name.
void complete(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace ddp::commands
