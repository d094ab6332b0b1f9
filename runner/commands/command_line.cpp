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
#include "config/check/phrases.h"
#include "config/text/source.h"
#include "launch/library/version.h"
#include "launch/run/stopped.h"

namespace ddp::commands {
namespace {

std::multimap<int, AddVerb>& verbs() {
  static std::multimap<int, AddVerb> by_place;
  return by_place;
}

// CLI11 has its own exit codes; ours is 2 for every wrong command line and 0 for --help.
int explain(const CLI::App& app, const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 2; }

// CLI11 would only report that a command is missing.
void require_known_verb(const CLI::App& app, const std::string& verb) {
  std::vector<std::string> names;
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(known->get_name());
  if (verb.starts_with("-") || std::find(names.begin(), names.end(), verb) != names.end()) return;
  throw usage_error("unknown command " + config::in_quotes(verb), "", config::suggestion(verb, names, "commands"));
}

// Every command takes --results, so the same options fit all of them; some ignore it.
void accept_results_everywhere(const CLI::App& app, std::string& unused) {
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; })) {
    CLI::App* verb = app.get_subcommand(known->get_name());
    if (verb->get_option_no_throw("--results") != nullptr) continue;
    verb->add_option("--results", unused, "results root; ignored by this command")->group("");
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
  app.set_version_flag("--version", "ddp-exp " + launch::build_id() + ", LibTorch " + launch::kLibTorchVersion);
  app.footer("Exit codes: 0 done, 1 training failed, 2 nothing was started, 130 and 143 stopped by a signal.");
  int exit_code = 0;
  for (const auto& [place, add] : verbs()) add(app, exit_code);
  std::string unused_results;
  accept_results_everywhere(app, unused_results);
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
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
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
