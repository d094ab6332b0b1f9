#pragma once

#include <filesystem>

#include "commands/commands.h"

namespace ddp::commands {

// Adds -v/--verbose and -q/--quiet to a command that trains. They apply as soon as the command line is read. The
// command waits for no reader of stderr.
void add_output(CLI::App& verb);

// Prints the folder of a run or sweep: the only line that run, resume, fork and sweep write to stdout. If stdout does
// not accept the line, training continues, and main() reports the failure at the end.
void print_folder(const std::filesystem::path& folder);

}  // namespace ddp::commands
