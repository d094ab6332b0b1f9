#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace ddp::launch {

// Returns warnings about a dataset whose path is the folder above the folders of its sets, such as train/ and val/:
// they would become its classes. A warning has the place of the path, and settings with the folders of the sets.
std::vector<std::string> folders_of_sets(const config::Loaded& loaded);

}  // namespace ddp::launch
