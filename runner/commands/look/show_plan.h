#pragma once

#include <filesystem>

#include "commands/train/prepare.h"

namespace ddp::commands {

// Prints a plan to stdout, for people or as JSON. `data`: what data::describe says of the data. `results`: the results
// root that the run would be in.
void show_plan(const Prepared& prepared, const config::Value& data, const std::filesystem::path& results, bool json);

}  // namespace ddp::commands
