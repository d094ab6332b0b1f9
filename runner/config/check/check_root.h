#pragma once

#include <string>

#include "config/check/problems.h"
#include "config/load.h"
#include "config/text/node.h"

namespace ddp::config {

// Builds an experiment from its composed settings and adds their mistakes to `problems`. `file` names the experiment in
// messages.
Loaded check_root(Node root, const std::filesystem::path& file, const Components& components, Problems& problems);

}  // namespace ddp::config
