#pragma once

#include <functional>

#include "record/run_directory.h"

namespace ddp::commands {

// Calls `use`, which uses a checkpoint of the run. A run that trains replaces its checkpoints: if `use` fails because
// one is gone meanwhile, calls it again, a few times, so that it takes the next one. Throws the error of `use`, or
// ddp::Error (usage) if each attempt lost its checkpoint.
void while_saving(const record::RunDirectory& run, const std::function<void()>& use);

}  // namespace ddp::commands
