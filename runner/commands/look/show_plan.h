#pragma once

#include <filesystem>

#include "commands/train/prepare.h"

namespace ddp::commands {

// Prints a plan to stdout, for people or as JSON. `data`: the output of data::describe. `results`: the results folder
// of the planned run.
void show_plan(const Prepared& prepared, const config::Value& data, const std::filesystem::path& results, bool json);

}  // namespace ddp::commands
