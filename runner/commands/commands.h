#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ddp::commands {

// Reads the command line and runs its verb. Returns the exit code of the program; errors are told on stderr.
int run_command(int argc, char** argv);

// Adds a verb to the command line. When the verb was given, its callback runs it and stores the exit code of the
// program.
using AddVerb = void (*)(CLI::App& app, int& exit_code);

// Registers a verb: each verb's file calls this once. `place` orders the verbs in --help; two may have the same one.
bool register_verb(int place, AddVerb add);

// What `schema` can print.
std::vector<std::string> schema_names();

// Prints what the last word of a command line may become, a line each: "word", or "word<tab>what it is". The shells'
// scripts ask `ddp-exp __complete` with the words behind the program's name.
void complete(const CLI::App& app, const std::vector<std::string>& words);

// Prints the manual page of this date, in troff with the macros "man": what --help says of the program and of each
// verb. The build asks `ddp-exp __manual 2026-11-23` for it.
void print_manual(const CLI::App& app, const std::string& date);

}  // namespace ddp::commands
