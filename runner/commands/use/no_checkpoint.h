#pragma once

#include "base/error.h"
#include "record/run_directory.h"

namespace ddp::commands {

// Returns the error for a command that uses the model of a run without a complete checkpoint. It tells why the run has
// none, and its remedy names the newest run of the same name that has one.
Error no_checkpoint(const record::RunDirectory& run);

}  // namespace ddp::commands
