#pragma once

#include <string>
#include <vector>

#include "config/components.h"
#include "config/load.h"

namespace ddp::config {

// Does the file leave an option of the model to the data?
bool leaves_sizes(const Experiment& experiment, const Components& components);

// Fills in the options of the model that the file leaves to the data. `facts` are data::facts_of's. Throws ddp::Error
// (usage) where the data do not tell one, or where a size that was given cannot fit the data.
void fill_sizes(Experiment& experiment, const Loaded& loaded, const Components& components, const Value& facts);

}  // namespace ddp::config
