#pragma once

#include <string>

namespace ddp::model {

// Tells whether a pattern matches the name of a tensor, as fnmatch(3) does: "*" stands for any characters, dots among
// them, "?" for one, "[ab]" for one of these.
bool matches_name(const std::string& pattern, const std::string& name);

}  // namespace ddp::model
