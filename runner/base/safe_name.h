#pragma once

#include <string>

namespace ddp {

// May this be the name of a folder that a user gives, below a folder that it must not leave? Letters, digits, '.',
// '_' and '-', not beginning with '.', at most 128.
bool is_safe_name(const std::string& name);

}  // namespace ddp
