#pragma once

#include <string>

namespace ddp::model {

// Tells whether a pattern matches the name of a tensor, as fnmatch(3): "*" stands for any characters including dots,
// "?" for one character, "[ab]" for one of these.
bool matches_name(const std::string& pattern, const std::string& name);

}  // namespace ddp::model
