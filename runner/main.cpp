#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "commands/commands.h"
#include "config/phrases.h"
#include "config/source.h"
#include "launch/version.h"

namespace {

// CLI11 has exit codes of its own; ours is 2 for every wrong command line, 0 for --help.
int explain(const CLI::App& app, const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 2; }

// CLI11 would only say that a command is missing.
void require_known_verb(const CLI::App& app, const std::string& verb) {
  std::vector<std::string> names;
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(known->get_name());
  if (verb.starts_with("-") || std::find(names.begin(), names.end(), verb) != names.end()) return;
  throw ddp::usage_error("unknown command " + ddp::config::in_quotes(verb), "",
                         ddp::config::suggestion(verb, names, "commands"));
}

// Where memory ends while a library is loaded, or in a thread, nobody can catch what is thrown.
[[noreturn]] void end_for_want_of_memory() {
  static constexpr char kText[] = "error: not enough memory\n";
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    if (write(STDERR_FILENO, kText, sizeof kText - 1) > 0) _exit(1);
  } catch (...) {  // a bug, which a core dump tells more about
  }
  std::abort();
}

int run_command(int argc, char** argv) {
  // A file that grows beyond `ulimit -f` is an error of who writes it, here and in the ranks: a run goes on where it
  // cannot save.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app(
      "ddp-exp runs experiments: it trains what a .toml file describes, with PyTorch's own distributed "
      "data parallelism");
  app.name("ddp-exp");
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       "ddp-exp " + ddp::launch::build_id() + ", LibTorch " + ddp::launch::kLibTorchVersion);
  int exit_code = 0;
  ddp::commands::add_run(app, exit_code);
  ddp::commands::add_resume(app, exit_code);
  ddp::commands::add_sweep(app, exit_code);
  ddp::commands::add_plan(app, exit_code);
  ddp::commands::add_validate(app, exit_code);
  ddp::commands::add_list(app, exit_code);
  ddp::commands::add_show(app, exit_code);
  ddp::commands::add_compare(app, exit_code);
  ddp::commands::add_diff(app, exit_code);
  ddp::commands::add_models(app, exit_code);
  ddp::commands::add_datasets(app, exit_code);
  ddp::commands::add_schema(app, exit_code);
  ddp::commands::add_report(app, exit_code);
  ddp::commands::add_slurm(app, exit_code);
  ddp::commands::add_comm(app, exit_code);
  ddp::commands::add_completion(app, exit_code);
  try {
    if (argc > 1 && std::strcmp(argv[1], "__complete") == 0) {
      ddp::commands::complete(app, {argv + 2, argv + argc});
      return 0;
    }
    if (argc > 1) require_known_verb(app, argv[1]);
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  } catch (const ddp::Error& error) {
    ddp::log::error(error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    ddp::log::error(error.what());
    return 1;
  }
}

// What was printed has arrived, or it is an error, as on a full disk. Who has closed stdout wants nothing of it.
int flush_output(int exit_code) {
  const bool arrived = std::cout.flush().good() && std::fflush(nullptr) == 0;
  if (arrived || exit_code != 0 || fcntl(STDOUT_FILENO, F_GETFD) < 0) return exit_code;
  ddp::log::error("cannot print all of it: stdout takes no more");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(end_for_want_of_memory);
  // Not return: LibTorch takes its tables of operators apart at exit, for longer than it takes to put them together.
  _exit(flush_output(run_command(argc, argv)));
}
