#pragma once

#include <string>

#include "commands/commands.h"

namespace ddp::commands {

// An option of other programs, for the commands that have the option or the argument `here`: it has the same meaning,
// or `words` say what to do.
struct OptionOfOthers {
  const char* name;
  const char* here;
  const char* words = "";
};

// Finds the option `name`, in the spelling of config::plain_name and without its dashes, for a value that it can have;
// the value may be empty. Returns null for any other.
const OptionOfOthers* option_of_others(const CLI::App& verb, const std::string& name, const std::string& value);

// Returns the remedy for an option of sbatch, if the command writes a job script; empty: there is none. `option` has
// its dashes; `value` may be empty.
std::string sbatch_meant(const CLI::App& verb, const std::string& option, const std::string& value);

// Returns the key of [sweep] that an option of other programs for sweeps means; empty for any other option or command.
std::string key_of_sweep(const CLI::App& verb, const std::string& name);

}  // namespace ddp::commands
