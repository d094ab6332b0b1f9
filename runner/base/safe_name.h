#pragma once

#include <cstddef>
#include <string>

namespace ddp {

inline constexpr std::size_t kLongestSafeName = 128;

// Returns whether a user may give this name to a folder that must stay below another one: letters, digits, '.', '_' and
// '-', not beginning with '.' or '-', at most kLongestSafeName characters.
bool is_safe_name(const std::string& name);

// Returns a safe name that is similar to the text: "my-first-run" for "my first run". Empty if the text has no safe
// character.
std::string safe_name_like(const std::string& text);

}  // namespace ddp
