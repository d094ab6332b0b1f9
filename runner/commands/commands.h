#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/option/fields.h"

namespace CLI {
class App;
}

namespace ddp::commands {

// Reads the command line and runs its command. Prints errors on stderr. Returns the program's exit code.
int run_command(int argc, char** argv);

// Adds a command to the command line. If the command is given, its callback runs it and stores the program's exit code.
using AddVerb = void (*)(CLI::App& app, int& exit_code);

// Registers a command; each command's file calls this once. `place` orders the commands in --help and may repeat.
bool register_verb(int place, AddVerb add);

// Registers the JSON Schema of an output, which `schema` prints.
bool register_schema(const char* name, std::function<config::Value()> schema);
// The same for a type with a list of its members.
template <class Output>
bool register_schema(const char* name, const std::string& title) {
  return register_schema(name, [title] { return config::output_schema<Output>(title); });
}

// Returns the names that `schema` accepts.
std::vector<std::string> schema_names();

// Prints the candidates for the last word of a command line, one per line: "word", or "word<tab>description". The
// shells' scripts call `ddp-exp __complete` with the words behind the program's name.
void complete(const CLI::App& app, const std::vector<std::string>& words);

// Prints the manual page with this date, in troff with the "man" macros; its text is the --help of the program and of
// each command. The build calls `ddp-exp __manual 2026-11-23`.
void print_manual(const CLI::App& app, const std::string& date);

}  // namespace ddp::commands
