#pragma once

#include <cstddef>
#include <string>

namespace ddp {

inline constexpr std::size_t kLongestSafeName = 128;

// Returns whether a user may give this name to a folder that must stay below another one: letters, digits, '.', '_' and
// '-', not beginning with '.', at most kLongestSafeName characters.
bool is_safe_name(const std::string& name);

}  // namespace ddp
