#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/help.h"
#include "commands/split_setting.h"
#include "commands/wrong_line.h"
#include "launch/library/version.h"
#include "launch/process/stop_signals.h"

namespace ddp::commands {
namespace {

std::multimap<int, AddVerb>& verbs() {
  static std::multimap<int, AddVerb> by_place;
  return by_place;
}

// Every command takes --results, so the same options fit all of them; some ignore it.
void accept_results_everywhere(const CLI::App& app, std::string& unused) {
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; })) {
    CLI::App* verb = app.get_subcommand(known->get_name());
    if (verb->get_option_no_throw("--results") != nullptr) continue;
    verb->add_option("--results", unused, "results folder; ignored by this command")->group("");
  }
}

}  // namespace

bool register_verb(int place, AddVerb add) {
  verbs().emplace(place, add);
  return true;
}

int run_command(int argc, char** argv) {
  // A write beyond `ulimit -f` then fails with an error and does not kill the process, here and in the ranks: a run
  // continues even if it cannot save.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app(
      "ddp-exp runs experiments: it trains what a .toml file describes, with PyTorch's distributed data "
      "parallelism");
  app.name("ddp-exp");
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "show this help");
  app.set_version_flag("--version", "ddp-exp " + launch::build_id() + ", LibTorch " + launch::kLibTorchVersion,
                       "show the versions of the program and of LibTorch");
  app.footer(
      "Exit codes: 0 done; 1 training failed, or other ranks or nodes did not come; 2 a mistake, and nothing was "
      "started; 128 + N stopped by signal N, such as 130 and 143.");
  int exit_code = 0;
  for (const auto& [place, add] : verbs()) add(app, exit_code);
  std::string unused_results;
  accept_results_everywhere(app, unused_results);
  give_help(app);
  try {
    if (argc > 1 && std::strcmp(argv[1], "__complete") == 0) {
      complete(app, {argv + 2, argv + argc});
      return 0;
    }
    if (argc == 3 && std::strcmp(argv[1], "__manual") == 0) {
      print_manual(app, argv[2]);
      return 0;
    }
    if (argc > 1) require_known_verb(app, argv[1]);
    require_whole_settings(app, {argv + std::min(argc, 1), argv + argc});
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    const Error explained = wrong_line(app, error);
    log::error(explained.what());
    return explained.exit_code();
  } catch (const launch::Stopped& stopped) {
    log::error(stopped.what());
    return stopped.code();
  } catch (const Error& error) {
    log::error(error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    const Error explained = as_error(error);
    log::error(explained.what());
    return explained.exit_code();
  }
}

}  // namespace ddp::commands
