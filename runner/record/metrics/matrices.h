#pragma once

#include <cstdint>
#include <string>

#include "config/value.h"
#include "record/run_directory.h"

namespace ddp::record {

// The matrices that rank 0 measured last, such as val_confusion; a file of the run keeps them until its summary is
// written, since they are in no event. Adds those, by the names that they have in the summary, or puts them in the
// place of older ones. `step`: of the run, then. Throws ddp::Error (training).
void keep_matrices(const RunDirectory& run, const config::Value& by_name, std::int64_t step);

// Those that were measured after this step or before it, by name; an object. What cannot be read is left out.
config::Value kept_matrices(const RunDirectory& run, std::int64_t step);

}  // namespace ddp::record
