#include "commands/option_meant.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/own_command.h"
#include "commands/option_text.h"
#include "commands/options_of_others.h"
#include "config/components.h"
#include "config/text/compose.h"
#include "config/experiment.h"
#include "config/suggest.h"

namespace ddp::commands {
namespace {

bool is_like_path(const std::string& value) { return value.find_first_of("./") != std::string::npos; }

std::string assignment(const std::string& key, const std::string& value) {
  return key + "=" + (value.empty() ? "…" : value);
}

std::string plain_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

constexpr const char* kNoSweepHere =
    "a sweep is a table of the experiment file:\n    [sweep.parameters]\n    \"optimizer.lr\" = [0.1, 0.2]\n  then "
    "run: ";

// Returns the remedy for Hydra's options of a sweep; empty: it is another option.
std::string multirun_meant(const CLI::App& verb, const std::string& option) {
  const bool is_multirun = option == "--multirun" || option == "-m";
  if (!is_multirun || verb.get_option_no_throw("--set") == nullptr) return "";
  return kNoSweepHere + own_command("sweep FILE");
}

std::string in_place_of(const CLI::App& verb, const CLI::Option& here, const std::string& value) {
  const std::string known = option_names(here).back();
  if (here.get_positional()) return "give " + known + " as a word without an option\n  usage: " + usage_of(verb);
  return "here it is " + known + ": " + (value.empty() ? here.get_description() : known + " " + shell_word(value));
}

// Returns the key of the experiment that a name means; empty: none.
std::string key_meant(const std::string& name) {
  const std::vector<config::Option> options = config::describe<config::Experiment>();
  return config::same_name(name, config::keys_of(options, config::Components::installed()));
}

// Finds the command's own option for a name in another spelling, or for a key of the experiment.
const CLI::Option* own_option(const CLI::App& verb, std::string name) {
  name = name.substr(name.rfind('.') + 1);
  std::replace(name.begin(), name.end(), '_', '-');
  return verb.get_option_no_throw("--" + name);
}

// Returns the remedy for a key of the experiment on the command line of a command that takes no settings, such as comm.
std::string option_for_key(const CLI::App& verb, const std::string& name, const std::string& value) {
  const std::size_t equals = value.find('=');
  const bool is_setting = name == "set" && equals != std::string::npos;
  const std::string key = is_setting ? value.substr(0, equals) : name;
  const CLI::Option* here = own_option(verb, key);
  if (here == nullptr) here = own_option(verb, key_meant(key));
  return here == nullptr ? "" : in_place_of(verb, *here, is_setting ? value.substr(equals + 1) : value);
}

}  // namespace

std::string option_meant(const CLI::App& verb, const std::string& option, const std::string& value) {
  if (const std::string sbatch = sbatch_meant(verb, option, value); !sbatch.empty()) return sbatch;
  if (const std::string sweep = multirun_meant(verb, option); !sweep.empty()) return sweep;
  const std::string name = plain_name(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  if (name.empty()) return "";
  if (const CLI::Option* const same = own_option(verb, name)) return in_place_of(verb, *same, value);
  if (const OptionOfOthers* const known = option_of_others(verb, name, value)) {
    return *known->words ? as_called(known->words) : in_place_of(verb, *verb.get_option_no_throw(known->here), value);
  }
  if (verb.get_option_no_throw("--set") == nullptr) return option_for_key(verb, name, value);
  if (const std::string key = key_of_sweep(verb, name); !key.empty()) {
    return "set a key of the sweep with --set " + shell_word(assignment(key, value));
  }
  const std::string key = key_meant(name);
  return key.empty() ? "" : "set a key of the experiment with --set " + shell_word(assignment(key, value));
}

std::string word_meant(const CLI::App& verb, const std::string& word) {
  if (verb.get_name() == "comm" && word.ends_with(".toml")) {
    return "comm reads no experiment file: --devices and --backend choose the ranks that it measures";
  }
  const CLI::Option* const sets = verb.get_option_no_throw("--set");
  if (sets == nullptr) return "";
  const std::vector<std::string>& given = sets->results();
  const auto without_value =
      std::find_if(given.begin(), given.end(), [](const auto& set) { return set.find('=') == std::string::npos; });
  if (without_value != given.end()) return "a setting is one word: --set " + shell_word(*without_value + "=" + word);
  if (word.find('=') != std::string::npos) return "a setting needs its option: --set " + shell_word(word);
  const bool measures = verb.get_name() == "eval" && is_like_path(word);
  return measures ? "other data are a setting: --set " + shell_word("dataset.path=" + word) : "";
}

}  // namespace ddp::commands
