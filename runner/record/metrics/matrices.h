#pragma once

#include <cstdint>
#include <string>

#include "config/value.h"
#include "record/run_directory.h"

namespace ddp::record {

// Keeps matrices that rank 0 measured, such as val_confusion, in a file of the run until its summary is written: no
// event contains them. Adds the matrices, by their names in the summary, or replaces older ones. `step`: the run's step
// at the measurement. Throws ddp::Error (training).
void keep_matrices(const RunDirectory& run, const config::Value& by_name, std::int64_t step);

// Returns the matrices that were measured at this step or before it, as an object by name. Leaves out unreadable ones.
config::Value kept_matrices(const RunDirectory& run, std::int64_t step);

}  // namespace ddp::record
