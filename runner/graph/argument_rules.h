#pragma once

#include <vector>

#include "graph/argument_checks.h"

namespace ddp::graph {

// Recurrent layers: lists of parameters, first states, lengths of sequences.
const std::vector<ArgumentRule>& recurrent_rules();

// Images, and windows over them: sizes of outputs, steps, margins, scales.
const std::vector<ArgumentRule>& image_rules();

// Other layers.
const std::vector<ArgumentRule>& layer_rules();

// Tensors of numbers in a row.
const std::vector<ArgumentRule>& range_rules();

}  // namespace ddp::graph
