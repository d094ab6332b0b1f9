#pragma once

#include <string>

#include "config/check/problems.h"
#include "config/load.h"
#include "config/text/node.h"

namespace ddp::config {

// An experiment from its settings, composed; what is wrong with them goes to `problems`. `file`: what they are told by.
Loaded check_root(Node root, const std::filesystem::path& file, const Components& components, Problems& problems);

// A file that names no loss gets the one that fits its dataset's targets.
void supply_loss(Node& root, const Components& components, Problems& problems);

}  // namespace ddp::config
