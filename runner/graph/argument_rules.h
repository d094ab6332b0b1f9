#pragma once

#include <vector>

#include "graph/argument_checks.h"

namespace ddp::graph {

// Recurrent layers: lists of parameters, initial states, sequence lengths.
const std::vector<ArgumentRule>& recurrent_rules();

// Images, and windows over them: output sizes, strides, padding, scales.
const std::vector<ArgumentRule>& image_rules();

// Other layers.
const std::vector<ArgumentRule>& layer_rules();

// Ranges: tensors of evenly spaced numbers.
const std::vector<ArgumentRule>& range_rules();

}  // namespace ddp::graph
