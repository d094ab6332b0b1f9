#pragma once

#include "config/experiment.h"
#include "config/value.h"

namespace ddp::tensorboard {

// What TensorBoard's table of hyper-parameters shows of a run, by its name in the experiment file: every component and
// its options, the seed, and whatever else was given another value than its default. Bools, numbers and texts.
config::Value hyper_parameters(const config::Experiment& experiment);

}  // namespace ddp::tensorboard
