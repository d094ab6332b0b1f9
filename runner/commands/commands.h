#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/option/fields.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ddp::commands {

// Reads the command line and runs its command. Prints errors on stderr. Returns the program's exit code.
int run_command(int argc, char** argv);

// Adds a command's arguments and options. Returns what runs the command; that returns the program's exit code.
using AddVerb = std::function<std::function<int()>(CLI::App& verb)>;

// Texts that belong to a command besides its name and description.
struct VerbTexts {
  std::vector<std::string> examples;      // without the program's name: "run basic.toml"
  std::vector<std::string> aliases = {};  // what other programs call it: a hint for who types them
};

bool register_verb(int place, const std::string& name, const std::string& doc, AddVerb add, VerbTexts texts);

// Registers a command; each command's file calls this once, and nothing else names the command. `add` adds the
// arguments and options, which set the members of Options. `run` takes these and returns the program's exit code, or
// nothing. `place` orders the commands in --help; commands of one place are ordered by name.
template <class Options, class Run>
bool register_verb(int place, const std::string& name, const std::string& doc, void (*add)(CLI::App&, Options&),
                   Run run, VerbTexts texts) {
  const AddVerb with_options = [add, run](CLI::App& verb) {
    const auto options = std::make_shared<Options>();
    add(verb, *options);
    return [options, run] {
      if constexpr (std::is_void_v<decltype(run(*options))>) {
        run(*options);
        return 0;
      } else {
        return run(*options);
      }
    };
  };
  return register_verb(place, name, doc, with_options, std::move(texts));
}

// Returns the texts of a registered command.
const VerbTexts& texts_of(const CLI::App& verb);

// Registers the JSON Schema of an output, which `schema` prints.
bool register_schema(const char* name, std::function<config::Value()> schema);
// The same for a type with a list of its members.
template <class Output>
bool register_schema(const char* name, const std::string& title) {
  return register_schema(name, [title] { return config::output_schema<Output>(title); });
}

// Prints the candidates for the last word of a command line, one per line: "word", or "word<tab>description". The
// shells' scripts call `ddp-exp __complete` with the words behind the program's name.
void complete(const CLI::App& app, const std::vector<std::string>& words);

// Prints the manual page with this date, in troff with the "man" macros; its text is the --help of the program and of
// each command. The build calls `ddp-exp __manual 2026-11-23`.
void print_manual(const CLI::App& app, const std::string& date);

}  // namespace ddp::commands
