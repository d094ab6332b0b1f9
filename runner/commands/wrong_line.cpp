#include "commands/wrong_line.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/own_command.h"
#include "commands/option_meant.h"
#include "commands/option_text.h"
#include "config/check/phrases.h"
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

// Returns "it is an option of `run` and `resume`" for an option of other commands; empty: no command has it.
std::string commands_with(const CLI::App& verb, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::App* other : verb.get_parent()->get_subcommands([](const CLI::App*) { return true; })) {
    const CLI::Option* const same = other->get_option_no_throw(option);
    if (same != nullptr && !same->get_group().empty()) names.push_back("`" + other->get_name() + "`");
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text.empty() ? "" : "it is an option of " + text;
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
  const bool has_value = equals == std::string::npos && rest.size() > 1 && !rest[1].starts_with("--");
  const std::string value = equals != std::string::npos ? word.substr(equals + 1) : has_value ? rest[1] : "";
  const std::string meant = option_meant(verb, name, value);
  if (!meant.empty()) return usage_error(what, verb.get_name(), meant);
  if (const std::string others = commands_with(verb, name); !others.empty()) {
    return usage_error(what, verb.get_name(), others);
  }
  return usage_error(what, verb.get_name(), config::suggestion(name, known, "options"));
}

// Returns "takes one FILE", "takes RUN and OUT" or "takes no words".
std::string taken_in_words(const CLI::App& verb) {
  std::string names;
  int count = 0;
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_positional()) continue;
    const int times = std::max(1, option->get_expected_min());
    for (int i = 0; i < times; ++i) names += (count++ == 0 ? "" : " and ") + option->get_name(true);
  }
  return "takes " + (count == 0 ? "no words" : count == 1 ? "one " + names : names);
}

// Returns the remedy if the shell has split the name of an existing file at its blank; else empty.
std::string quoted_name(const CLI::App& verb, const std::string& rest) {
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_positional() || option->count() == 0) continue;
    const std::string name = option->results().back() + " " + rest;
    std::error_code unreadable;
    if (std::filesystem::exists(name, unreadable)) return "quote a name that has a blank: " + path_word(name);
  }
  return "";
}

Error too_much(const CLI::App& verb) {
  const std::vector<std::string> rest = verb.remaining();
  // If an option is unknown, the word after it may be its value and is not the mistake.
  const auto option = std::find_if(rest.begin(), rest.end(), [](const auto& word) { return word.starts_with("-"); });
  if (option != rest.end()) return unknown_option(verb, {option, rest.end()});
  const std::string first = rest.empty() ? "" : rest.front();
  const std::string quoted = quoted_name(verb, first);
  const std::string remedy = quoted.empty() ? word_meant(verb, first) : quoted;
  return usage_error(taken_in_words(verb) + "; " + config::in_quotes(first) + " is one too many", verb.get_name(),
                     remedy.empty() ? usage_line(verb) : remedy);
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

// Returns `"1", "2"`.
std::string values_in_words(const CLI::Option& option) {
  std::string text;
  for (const std::string& value : option.results()) text += (text.empty() ? "" : ", ") + config::in_quotes(value);
  return text;
}

// Returns the error for a wrong number of values.
Error wrong_count(const CLI::App& verb, const CLI::Option& option) {
  const std::string name = name_of_option(option);
  const std::string& doc = option.get_description();
  if (option.get_items_expected_max() == 0) {
    return usage_error(name + " takes no value: " + doc, verb.get_name(), "give " + name + " alone");
  }
  if (option.nonpositional() && option.count() > static_cast<std::size_t>(option.get_items_expected_max())) {
    const std::string times = option.count() == 2 ? "twice" : std::to_string(option.count()) + " times";
    return usage_error(name + " is given " + times + ": " + values_in_words(option), verb.get_name(), "give it once");
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
  // An unknown option explains why something else is missing: "--config=x.toml" in place of FILE.
  const std::vector<std::string> rest = verb.remaining();
  const bool has_unknown =
      std::any_of(rest.begin(), rest.end(), [](const auto& word) { return word.starts_with("-"); });
  if (has_unknown && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return too_much(verb);
  const CLI::Option* option = option_in(verb, error.what());
  const bool is_mismatch = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return missing_argument(verb);
  if (option == nullptr) return usage_error(error.what(), verb.get_name(), usage_line(verb));
  if (is_mismatch) return wrong_count(verb, *option);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) return excluded(verb, *option);
  return wrong_value(verb, *option);
}

}  // namespace ddp::commands
