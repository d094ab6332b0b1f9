#pragma once

#include "config/experiment.h"
#include "config/value.h"

namespace ddp::tensorboard {

// Returns the row of a run in TensorBoard's table of hyper-parameters, by keys of the experiment file: every component
// with its options, the seed, and all other settings that differ from their defaults. The values are bools, numbers and
// texts.
config::Value hyper_parameters(const config::Experiment& experiment);

}  // namespace ddp::tensorboard
