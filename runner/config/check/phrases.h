#pragma once

#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::config {

// What an option takes: "an integer of at least 1", `one of "ddp", "single"`, "a list of 2 numbers".
std::string expected(const Option& option);

// The candidate that a mistyped name is likely to mean, empty where none is near. Case does not count.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);

// `did you mean "lr"?`, or `options: lr, momentum` where no name is near; `what` names them.
std::string suggestion(const std::string& name, const std::vector<std::string>& candidates, const std::string& what);

std::vector<std::string> names_of(const std::vector<Option>& options);
std::vector<std::string> names_of(const std::vector<Spec>& specs);

}  // namespace ddp::config
