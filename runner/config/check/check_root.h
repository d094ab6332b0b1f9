#pragma once

#include <string>

#include "config/check/problems.h"
#include "config/load.h"
#include "config/text/node.h"

namespace ddp::config {

// Builds an experiment from its composed settings and adds their mistakes to `problems`. `file` names the experiment in
// messages.
Loaded check_root(Node root, const std::filesystem::path& file, const Components& components, Problems& problems);

// Gives a file without a loss the loss that fits its dataset's targets.
void supply_loss(Node& root, const Components& components, Problems& problems);

// Returns the name of an experiment whose file gives none: the file's name, or a similar one that can name a folder.
std::string name_of_file(const std::filesystem::path& file);

}  // namespace ddp::config
