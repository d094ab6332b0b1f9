#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"
#include "runs/trained.h"

namespace ddp::commands {

// Adds RUN, --results, --from and --raw; `add_trained` also adds --set. `usable`: keys that this
// command uses besides the keys of the data, the devices and the arithmetic.
void add_trained_run(CLI::App& verb, runs::TrainedOptions& options);
void add_trained(CLI::App& verb, runs::TrainedOptions& options, const std::vector<std::string>& usable = {});

}  // namespace ddp::commands
