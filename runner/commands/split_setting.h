#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"

namespace ddp::commands {

// Throws ddp::Error (usage) if the shell has split a setting of the command at its blanks: `--set epochs = 5`,
// `--set optimizer.betas=[0.9, 0.99]`, or if an option stands in place of the setting. The remedy is the setting as one
// word. `words`: the command line after the program's name.
void require_whole_settings(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace ddp::commands
