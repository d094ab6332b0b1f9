#pragma once

namespace CLI {
class App;
}

namespace ddp::commands {

// Each adds one verb to the command line. When the verb was given, its callback runs it and stores the
// exit code of the program.
void add_run(CLI::App& app, int& exit_code);
void add_resume(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_validate(CLI::App& app, int& exit_code);
void add_models(CLI::App& app, int& exit_code);
void add_datasets(CLI::App& app, int& exit_code);
void add_schema(CLI::App& app, int& exit_code);
void add_slurm(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_comm(CLI::App& app, int& exit_code);

}  // namespace ddp::commands
