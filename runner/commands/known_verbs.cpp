#include <algorithm>
#include <map>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/own_command.h"
#include "commands/option_text.h"
#include "commands/wrong_line.h"
#include "config/check/phrases.h"
#include "config/text/source.h"

namespace ddp::commands {
namespace {

// The command of this program for a word of other programs.
struct Here {
  std::string command;
  std::string remark = {};
};

const Here kTrain = {"run FILE"};
const Here kMeasure = {"eval RUN",
                       ", which measures a trained run; `test` in the file measures at the end of training"};
const Here kList = {"list", ", with the status of each run; `show RUN` prints more about one run"};
const Here kGoOn = {"resume RUN"};
const Here kPredict = {"predict RUN INPUT"};
const Here kSearch = {"sweep FILE"};
const Here kCheck = {"validate FILE", "; `plan` also tries the model and the data"};
const Here kLook = {"show RUN", ", which names the logs and checkpoints of the run"};
const Here kDraw = {"report RUN", ", which writes a page with the curves"};
const Here kHelp = {"--help", "; COMMAND --help describes one command"};

const std::map<std::string, Here>& commands_of_others() {
  static const std::map<std::string, Here> kCommands = {
      {"train", kTrain},
      {"start", kTrain},
      {"launch", kTrain},
      {"fit", kTrain},
      {"torchrun", kTrain},
      {"test", kMeasure},
      {"evaluate", kMeasure},
      {"measure", kMeasure},
      {"score", kMeasure},
      {"ls", kList},
      {"status", kList},
      {"runs", kList},
      {"ps", kList},
      {"continue", kGoOn},
      {"restart", kGoOn},
      {"restore", kGoOn},
      {"infer", kPredict},
      {"inference", kPredict},
      {"tune", kSearch},
      {"search", kSearch},
      {"hpo", kSearch},
      {"grid", kSearch},
      {"check", kCheck},
      {"lint", kCheck},
      {"verify", kCheck},
      {"info", kLook},
      {"logs", kLook},
      {"log", kLook},
      {"tail", kLook},
      {"watch", kLook},
      {"describe", kLook},
      {"inspect", kLook},
      {"plot", kDraw},
      {"visualize", kDraw},
      {"dashboard", kDraw},
      {"help", kHelp},
      {"sample", {"generate RUN --prompt TEXT --tokens N"}},
      {"init", {"new model NAME"}},
      {"create", {"new model NAME"}},
      {"clone", {"fork RUN"}},
      {"copy", {"fork RUN"}},
      {"cp", {"fork RUN"}},
      {"branch", {"fork RUN"}},
      {"save", {"export RUN OUT"}},
      {"dry-run", {"plan FILE"}},
      {"submit", {"slurm FILE", ", which writes a job script for `sbatch`"}},
      {"sbatch", {"slurm FILE", ", which writes a job script for `sbatch`"}},
      {"version", {"--version"}},
  };
  return kCommands;
}

const std::string kRemoving =
    "a run is a folder: `rm -r results/NAME/RUN-ID` removes all of it. While a run trains, it keeps its newest two "
    "checkpoints and the best one, and removes the others (checkpoint.keep_last, checkpoint.keep_best)";
const std::string kStopping =
    "press ^C in its terminal, or `kill -INT` its process: it saves, and `resume` continues it; [stop] in the file "
    "ends a run by itself";
const std::string kRenaming =
    "--name names a run at its start; later `fork RUN --name NEW` starts another run with its state, and `mv` renames "
    "its folder under results/";

// The ways to reach an aim without a command.
const std::map<std::string, std::string>& ways_without_command() {
  static const std::map<std::string, std::string> kWays = {
      {"rm", kRemoving},
      {"remove", kRemoving},
      {"delete", kRemoving},
      {"clean", kRemoving},
      {"prune", kRemoving},
      {"purge", kRemoving},
      {"gc", kRemoving},
      {"stop", kStopping},
      {"kill", kStopping},
      {"cancel", kStopping},
      {"abort", kStopping},
      {"pause", kStopping},
      {"rename", kRenaming},
      {"mv", kRenaming},
      {"move", kRenaming},
      {"tensorboard", "every run writes its events: `tensorboard --logdir results` shows them"},
      {"set", "--set KEY=VALUE changes a key for one run; the file keeps its value"},
      {"config", "a run's config.toml has all of its settings: `diff RUN RUN` shows the differences of two runs"},
      {"install", "scripts/ddp-exp --install PREFIX of the checkout installs the program"},
  };
  return kWays;
}

// An option in front of the command. The program itself has few.
void require_known_option(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (name == "-" || name == "--" || app.get_option_no_throw(name) != nullptr) return;
  if (name == "-v" || name == "-V") {
    throw usage_error("there is no option " + config::in_quotes(name) + " without a command", "",
                      "the version: " + own_command("--version"));
  }
  const auto with_it = app.get_subcommands(
      [&](const CLI::App* verb) { return !verb->get_group().empty() && verb->get_option_no_throw(name) != nullptr; });
  if (!with_it.empty()) {
    throw usage_error("the command is missing before " + config::in_quotes(name), "",
                      "options stand behind their command; usage: " + usage_of(*with_it.front()));
  }
  throw usage_error("there is no option " + config::in_quotes(name), "",
                    config::suggestion(name, {"--help", "--version"}, "options without a command"));
}

}  // namespace

void require_known_verb(const CLI::App& app, const std::string& word) {
  if (word.starts_with("-")) return require_known_option(app, word);
  std::vector<std::string> names;
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(known->get_name());
  if (std::find(names.begin(), names.end(), word) != names.end()) return;
  const std::string what = "unknown command " + config::in_quotes(word);
  if (word.ends_with(".toml")) throw usage_error(what, "", "to train it: " + own_command("run " + word));
  if (const auto here = commands_of_others().find(word); here != commands_of_others().end()) {
    throw usage_error(what, "", "here it is `" + own_command(here->second.command) + "`" + here->second.remark);
  }
  if (const auto way = ways_without_command().find(word); way != ways_without_command().end()) {
    throw usage_error(what, "", way->second);
  }
  throw usage_error(what, "", config::suggestion(word, names, "commands"));
}

}  // namespace ddp::commands
