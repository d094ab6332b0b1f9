#pragma once

#include <string>

#include "config/check/problems.h"
#include "config/load.h"
#include "config/text/node.h"

namespace ddp::config {

// An experiment from its settings, composed; what is wrong with them goes to `problems`. `file`: what they are told by.
Loaded check_root(Node root, const std::filesystem::path& file, const Components& components, Problems& problems);

// The name of an experiment whose file gives none: the file's, or one like it that may name a folder.
std::string name_of_file(const std::filesystem::path& file);

}  // namespace ddp::config
