#pragma once

#include <filesystem>

#include "commands/look/memory.h"
#include "config/data_description.h"
#include "config/option/value.h"
#include "runs/prepare.h"
#include "sweep/trial.h"

namespace ddp::commands {

// Prints a plan to stdout, for people or as JSON. `data`: the output of data::describe. `memory`: {} leaves its
// line out. `results`: the results folder of the planned run.
void show_plan(const runs::Prepared& prepared, const config::DataDescription& data, const Memory& memory,
               const std::filesystem::path& results, bool json);

// Prints the planned sweep for people or as JSON: its trials, their devices, and an estimate of the time. `results`:
// the results folder of the sweep.
void show_sweep(const sweep::SweepPlan& sweep, const std::filesystem::path& results, bool json);

}  // namespace ddp::commands
