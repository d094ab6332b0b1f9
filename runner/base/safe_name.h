#pragma once

#include <cstddef>
#include <string>

namespace ddp {

inline constexpr std::size_t kLongestSafeName = 128;

// May this be the name of a folder that a user gives, below a folder that it must not leave? Letters, digits, '.',
// '_' and '-', not beginning with '.', at most kLongestSafeName.
bool is_safe_name(const std::string& name);

// Returns such a name that is like the text: "my-first-run" of "my first run". Empty where none of its characters may
// stand in one.
std::string safe_name_like(const std::string& text);

}  // namespace ddp
