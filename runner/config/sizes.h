#pragma once

#include <string>
#include <vector>

#include "config/components.h"
#include "config/load.h"

namespace ddp::config {

// Does the file leave an option of the model for the data to determine?
bool leaves_sizes(const Experiment& experiment, const Components& components);

// Fills in the options of the model that the file leaves to the data. `facts` comes from data::facts_of. Throws
// ddp::Error (usage) if the data do not determine an option, or if a given size cannot fit the data.
void fill_sizes(Experiment& experiment, const Loaded& loaded, const Components& components, const Value& facts);

}  // namespace ddp::config
