#pragma once

#include <cstdint>

#include "base/error.h"
#include "config/experiment.h"

namespace ddp::train {

// Returns the error of a run that ends after a step without a finite loss. `rank`: the first rank that had none.
Error loss_not_finite(const config::Experiment& experiment, std::int64_t step, int rank);

}  // namespace ddp::train
