#pragma once

#include <vector>

#include "config/load.h"

namespace ddp::config {

// Returns an error (usage) for each file that does not exist although an option of the experiment names it.
std::vector<Error> missing_files(const Loaded& loaded, const Components& components);

}  // namespace ddp::config
