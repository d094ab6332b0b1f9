#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"

namespace ddp::commands {

// Adds the repeatable option --set to a command. It overrides `what`: "the file", or "the run's setting".
void add_sets(CLI::App& verb, std::vector<std::string>& sets, const std::string& what = "the file");

// Adds the option --run-id of a command that starts a run. An empty id is refused, not taken as none.
void add_run_id(CLI::App& verb, std::string& run_id, const std::string& doc);

// Adds the option --name of a command that starts a run. An empty name is refused, not taken as none.
void add_name(CLI::App& verb, std::string& name,
              const std::string& doc = "name of the experiment, and of its folder under the results folder");

// Returns a text as the value of a --set: a name such as 7 stays a text.
std::string as_toml(const std::string& text);

// Returns the command with these --set, quoted for a shell.
std::string with_sets(std::string command, const std::vector<std::string>& sets);

}  // namespace ddp::commands
