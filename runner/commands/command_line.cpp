#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/help.h"
#include "commands/options.h"
#include "config/check/suggest.h"
#include "config/components.h"
#include "config/experiment.h"
#include "config/text/source.h"
#include "launch/library/libtorch.h"
#include "launch/process/stop_signals.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace {

struct Command {
  std::string doc;
  AddVerb add;
  VerbTexts texts;
};

// The commands by place and name; no static object, since registrations run before main in any order.
std::map<std::pair<int, std::string>, Command>& verbs() {
  static std::map<std::pair<int, std::string>, Command> all;
  return all;
}

// Every command takes --results, so the same options fit all of them; some ignore it.
void accept_results_everywhere(const CLI::App& app, std::string& unused) {
  for (const CLI::App* known : commands_of(app)) {
    CLI::App* verb = app.get_subcommand(known->get_name());
    if (verb->get_option_no_throw("--results") != nullptr) continue;
    completes(verb->add_option("--results", unused, "results folder; ignored by this command"), completion::folders)
        ->group("");
  }
}

using config::Named;

std::string usage_line(const CLI::App& verb) { return "usage: " + usage_of(verb); }

std::string usage_and_example(const CLI::App& verb) {
  return usage_line(verb) + "\n  such as: " + own_command(texts_of(verb).examples.front());
}

// Returns the option that CLI11's text names: the longest name in it.
const CLI::Option* option_in(const CLI::App& verb, const std::string& text) {
  const CLI::Option* found = nullptr;
  std::size_t longest = 0;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : {option->get_name(), option->get_name(true)}) {
      if (name.size() <= longest || text.find(name) == std::string::npos) continue;
      found = option;
      longest = name.size();
    }
  }
  return found;
}

std::string name_of_option(const CLI::Option& option) { return option_names(option).back(); }

// Returns "it is an option of `run`, `resume`" for an option of other commands; empty: no command has it.
std::string commands_with(const CLI::App& verb, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::App* other : commands_of(*verb.get_parent())) {
    const CLI::Option* const same = other->get_option_no_throw(option);
    if (same != nullptr && !same->get_group().empty()) names.push_back("`" + other->get_name() + "`");
  }
  return names.empty() ? "" : "it is an option of " + report::joined(names);
}

// "did you mean --set epochs=…?" for an option that names a key of the experiment; empty: it names none.
std::string key_meant(const CLI::App& verb, const std::string& option) {
  if (verb.get_option_no_throw("--set") == nullptr) return "";
  const auto keys = config::keys_of(config::describe<config::Experiment>(), config::Components::installed());
  const std::string key = config::same_name(option.substr(option.find_first_not_of('-')), keys);
  return key.empty() ? "" : "did you mean \"--set " + key + "=…\"?";
}

Error unknown_option(const CLI::App& verb, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<Named> known;
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->nonpositional() || option->get_group().empty()) continue;
    known.push_back({.name = name_of_option(*option), .aliases = aliases_of(option)});
  }
  std::string remedy = commands_with(verb, name);
  if (remedy.empty() && config::same_name(name, known).empty()) remedy = key_meant(verb, name);
  if (remedy.empty()) remedy = config::remedy_of_name(name, known, "options");
  return usage_error("there is no option " + config::in_quotes(name), verb.get_name(), remedy);
}

Error too_much(const CLI::App& verb) {
  const std::vector<std::string> rest = verb.remaining();
  // If an option is unknown, the word after it may be its value and is not the mistake.
  const auto option = std::find_if(rest.begin(), rest.end(), [](const auto& word) { return word.starts_with("-"); });
  if (option != rest.end()) return unknown_option(verb, *option);
  const std::string first = rest.empty() ? "" : rest.front();
  const bool setting = first.find('=') != std::string::npos && verb.get_option_no_throw("--set") != nullptr;
  return usage_error(config::in_quotes(first) + " is one word too many", verb.get_name(),
                     setting ? "a setting: --set KEY=VALUE, as one word" : usage_line(verb));
}

Error missing_argument(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    return usage_error(name_of_option(*option) + " is missing: " + option->get_description(), verb.get_name(),
                       usage_and_example(verb));
  }
  return usage_error("something is missing", verb.get_name(), usage_and_example(verb));
}

Error missing_verb(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : commands_of(app)) names.push_back(verb->get_name());
  return usage_error("the command is missing", "",
                     "commands: " + report::joined(names) +
                         "\n  such as: " + own_command(texts_of(*commands_of(app).front()).examples.front()));
}

// Returns the error for a wrong number of values.
Error wrong_count(const CLI::App& verb, const CLI::Option& option) {
  const std::string name = name_of_option(option);
  const std::string given = std::to_string(option.count());
  if (option.get_items_expected_max() == 0) {
    return usage_error(name + " takes no value: " + option.get_description(), verb.get_name());
  }
  if (!option.nonpositional()) {
    const std::string needed = std::to_string(option.get_items_expected_min());
    return usage_error("needs " + needed + " values of " + name + ", not " + given, verb.get_name(),
                       usage_and_example(verb));
  }
  if (option.count() == 0) {
    return usage_error(name + " needs " + accepted_by(option) + ": " + option.get_description(), verb.get_name(),
                       usage_and_example(verb));
  }
  return usage_error(name + " is given " + given + " times", verb.get_name(), "give it once");
}

Error wrong_value(const CLI::App& verb, const CLI::Option& option) {
  const std::vector<std::string>& given = option.results();
  const std::string name = name_of_option(option);
  const std::string value = given.empty() ? "" : ", not " + config::in_quotes(given.back());
  return usage_error(name + " takes " + accepted_by(option) + value, verb.get_name(),
                     name + ": " + option.get_description());
}

// Returns the error of a refused command line, in the form of all other errors.
Error wrong_line(const CLI::App& app, const CLI::ParseError& error) {
  const auto given = app.get_subcommands();
  const bool misses = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (given.empty() && misses) return missing_verb(app);
  const CLI::App& verb = given.empty() ? app : *given.front();
  const std::vector<std::string> rest = verb.remaining();
  // An unknown option explains why something else is missing: "--config=x.toml" in place of FILE.
  const bool has_unknown =
      std::any_of(rest.begin(), rest.end(), [](const auto& word) { return word.starts_with("-"); });
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || (misses && has_unknown)) return too_much(verb);
  if (misses) return missing_argument(verb);
  const CLI::Option* option = option_in(verb, error.what());
  if (option == nullptr || dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr ||
      dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) {
    return usage_error(error.what(), verb.get_name(), usage_line(verb));
  }
  return dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr ? wrong_count(verb, *option)
                                                                       : wrong_value(verb, *option);
}

// Throws ddp::Error (usage) if the first word is no command.
void require_known_verb(const CLI::App& app, const std::string& word) {
  if (word.starts_with("-")) {
    if (app.get_option_no_throw(word) != nullptr) return;
    for (const CLI::App* verb : commands_of(app)) {
      if (verb->get_option_no_throw(word.substr(0, word.find('='))) == nullptr) continue;
      throw usage_error("the command is missing before " + config::in_quotes(word), "", usage_line(app));
    }
    throw usage_error(
        "there is no option " + config::in_quotes(word), "",
        config::remedy_of_name(word, {{"--help"}, {"--version", {"-v", "-V"}}}, "options without a command"));
  }
  std::vector<Named> known;
  for (const CLI::App* verb : commands_of(app)) {
    if (verb->get_name() == word) return;
    known.push_back({.name = verb->get_name(), .aliases = texts_of(*verb).aliases});
  }
  const std::string what = "unknown command " + config::in_quotes(word);
  if (word.ends_with(".toml")) throw usage_error(what, "", "to train it: " + own_command("run " + path_word(word)));
  throw usage_error(what, "", config::remedy_of_name(word, known, "commands"));
}

}  // namespace

bool register_verb(int place, const std::string& name, const std::string& doc, AddVerb add, VerbTexts texts) {
  return verbs().insert({{place, name}, {doc, add, std::move(texts)}}).second;
}

const VerbTexts& texts_of(const CLI::App& verb) {
  for (const auto& [key, registered] : verbs()) {
    if (key.second == verb.get_name()) return registered.texts;
  }
  throw std::logic_error(verb.get_name() + " is no registered command");
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
  for (const auto& [key, command] : verbs()) {
    CLI::App* verb = app.add_subcommand(key.second, command.doc);
    verb->callback([&exit_code, run = command.add(*verb)] { exit_code = run(); });
  }
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
