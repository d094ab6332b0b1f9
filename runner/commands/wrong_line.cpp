#include "commands/wrong_line.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/own_command.h"
#include "base/shell_word.h"
#include "commands/option_text.h"
#include "config/check/check.h"
#include "config/check/common_names.h"
#include "config/check/phrases.h"
#include "config/components.h"
#include "config/experiment.h"
#include "config/text/source.h"

namespace ddp::commands {
namespace {

std::string usage_line(const CLI::App& verb) { return "usage: " + usage_of(verb); }

std::string examples_in_words(const CLI::App& verb) {
  const auto& examples = examples_of(verb.get_name());
  return examples.empty() ? usage_line(verb) : usage_line(verb) + "\n  such as: " + own_command(examples.front());
}

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

// Returns the option that CLI11's text names: the longest name in it.
const CLI::Option* option_in(const CLI::App& verb, const std::string& text) {
  const CLI::Option* found = nullptr;
  std::size_t longest = 0;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : {option->get_name(), option->get_name(true)}) {
      const std::size_t at = text.find(name);
      if (name.size() <= longest || at == std::string::npos) continue;
      const std::size_t end = at + name.size();
      if ((at > 0 && is_part_of_name(text[at - 1])) || (end < text.size() && is_part_of_name(text[end]))) continue;
      found = option;
      longest = name.size();
    }
  }
  return found;
}

std::string name_of_option(const CLI::Option& option) { return option_names(option).back(); }

// Returns the key of the experiment that an unknown option stands for, such as "--lr" or "--batch-size"; empty: none.
std::string key_meant(const std::string& option) {
  std::string name = option.substr(option.find_first_not_of('-'));
  std::replace(name.begin(), name.end(), '-', '_');
  const auto components = config::Components::installed();
  const std::string key = config::place_of_key(name, config::describe<config::Experiment>(), components);
  if (!key.empty()) return key;
  const config::CommonName* const common = config::find_common_name(name);
  return common == nullptr ? "" : common->key;
}

// Returns the remedy for an option of sbatch that a job script can have; empty: it is none.
std::string remedy_of_sbatch(const CLI::App& verb, const std::string& name, const std::string& word) {
  if (verb.get_option_no_throw("--signal-before") == nullptr) return "";
  const std::vector<std::string> options = {"--qos",  "--mem",       "--gres",      "--gpus",         "--constraint",
                                            "-C",     "--mail-user", "--mail-type", "--mem-per-cpu",  "--nodelist",
                                            "-w",     "--exclude",   "-x",          "--reservation",  "--dependency",
                                            "--error", "--chdir",    "-D",          "--ntasks",       "-n",
                                            "-c",     "--comment",   "--licenses",  "--mem-per-gpu"};
  const std::vector<std::pair<std::string, std::string>> short_names = {
      {"-p", "--partition"}, {"-N", "--nodes"}, {"-A", "--account"}, {"-t", "--time"}, {"-J", "--job-name"}};
  for (const auto& [letter, option] : short_names) {
    if (name == letter && verb.get_option_no_throw(option) != nullptr) return "here it is " + option;
  }
  if (std::find(options.begin(), options.end(), name) == options.end()) return "";
  return "other options of sbatch: sbatch " + word + " job.sbatch, or a line \"#SBATCH " + word + "\" in job.sbatch";
}

// `rest`: the unused words in their order; the first one is an option.
Error unknown_option(const CLI::App& verb, const std::vector<std::string>& rest) {
  const std::string& word = rest.front();
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  std::vector<std::string> known;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->nonpositional() && !option->get_group().empty()) known.push_back(name_of_option(*option));
  }
  const std::string what = "there is no option " + config::in_quotes(name);
  const bool apart = equals == std::string::npos && rest.size() > 1 && !rest[1].starts_with("-");
  const std::string joint = (name.starts_with("--") ? "=" : " ");
  const std::string sbatch = remedy_of_sbatch(verb, name, apart ? word + joint + rest[1] : word);
  if (!sbatch.empty()) return usage_error(what, verb.get_name(), sbatch);
  const bool sets = verb.get_option_no_throw("--set") != nullptr && name.find_first_not_of('-') != std::string::npos;
  if (const std::string key = sets ? key_meant(name) : ""; !key.empty()) {
    const bool has_value = equals == std::string::npos && rest.size() > 1 && !rest[1].starts_with("--");
    const std::string value = equals != std::string::npos ? word.substr(equals + 1) : has_value ? rest[1] : "…";
    return usage_error(what, verb.get_name(),
                       "set a key of the experiment with --set " + shell_word(key + "=" + value));
  }
  return usage_error(what, verb.get_name(), config::suggestion(name, known, "options"));
}

Error too_much(const CLI::App& verb) {
  const std::vector<std::string> rest = verb.remaining();
  // If an option is unknown, the word after it may be its value and is not the mistake.
  const auto option = std::find_if(rest.begin(), rest.end(), [](const auto& word) { return word.starts_with("-"); });
  if (option != rest.end()) return unknown_option(verb, {option, rest.end()});
  const std::string first = rest.empty() ? "" : rest.front();
  return usage_error("there is nothing that " + config::in_quotes(first) + " could be", verb.get_name(),
                     usage_line(verb));
}

Error missing_argument(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    return usage_error(name_of_option(*option) + " is missing: " + option->get_description(), verb.get_name(),
                       examples_in_words(verb));
  }
  return usage_error("something is missing", verb.get_name(), examples_in_words(verb));
}

Error missing_verb(const CLI::App& app) {
  std::string names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names += (names.empty() ? "" : ", ") + verb->get_name();
  return usage_error("the command is missing", "",
                     "commands: " + names + "\n  such as: " + own_command(examples_of("run").front()));
}

// Returns the error for a wrong number of values.
Error wrong_count(const CLI::App& verb, const CLI::Option& option) {
  const std::string name = name_of_option(option);
  const std::string& doc = option.get_description();
  if (option.get_items_expected_max() == 0) {
    return usage_error(name + " takes no value: " + doc, verb.get_name(), "give " + name + " alone");
  }
  if (option.nonpositional())
    return usage_error(name + " needs " + accepted_by(option) + ": " + doc, verb.get_name(), examples_in_words(verb));
  const std::string count = std::to_string(option.get_items_expected_min());
  return usage_error("needs " + count + " values of " + name + ", not " + std::to_string(option.count()),
                     verb.get_name(), examples_in_words(verb));
}

Error wrong_value(const CLI::App& verb, const CLI::Option& option) {
  const std::vector<std::string>& given = option.results();
  const std::string name = name_of_option(option);
  const std::string value = given.empty() ? "" : ", not " + config::in_quotes(given.back());
  return usage_error(name + " takes " + accepted_by(option) + value, verb.get_name(),
                     name + ": " + option.get_description());
}

Error excluded(const CLI::App& verb, const CLI::Option& option) {
  for (const CLI::Option* other : option.get_excludes()) {
    if (other->count() == 0) continue;
    const std::string a = name_of_option(option);
    const std::string b = name_of_option(*other);
    return usage_error(a + " and " + b + " do not go together", verb.get_name(), "give one of them");
  }
  return usage_error(name_of_option(option) + " does not go with the rest", verb.get_name(), usage_line(verb));
}

}  // namespace

Error wrong_line(const CLI::App& app, const CLI::ParseError& error) {
  const auto given = app.get_subcommands();
  if (given.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return missing_verb(app);
  const CLI::App& verb = given.empty() ? app : *given.front();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return too_much(verb);
  const CLI::Option* option = option_in(verb, error.what());
  const bool is_mismatch = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return missing_argument(verb);
  if (option == nullptr) return usage_error(error.what(), verb.get_name(), usage_line(verb));
  if (is_mismatch) return wrong_count(verb, *option);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) return excluded(verb, *option);
  return wrong_value(verb, *option);
}

}  // namespace ddp::commands
