#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/option/option.h"

namespace ddp::config {

// Describes the values of an option: "an integer of at least 1", `one of "ddp", "single"`, "a list of 2 numbers".
std::string expected(const Option& option);

// Returns the candidate that a mistyped name probably means; empty if none is near. Ignores case.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);

// The same for the name of a file. Endings do not make two names alike: "gone.toml" is not near "new.toml".
std::string nearest_file(const std::string& name, const std::vector<std::string>& candidates);

// Returns `did you mean "lr"?`, or `options: lr, momentum` if no candidate is near; `what` is the label of the list.
std::string suggestion(const std::string& name, const std::vector<std::string>& candidates, const std::string& what);

// Returns the first candidate that has `name` among its words, "save_every" for "every"; else the first one that is
// among the words of `name`, "every" for "update_every". Empty: none.
std::string with_word(const std::string& name, const std::vector<std::string>& candidates);

// Is this a number with a decimal comma, such as "-0,1"?
bool is_decimal_comma(std::string_view text);

std::vector<std::string> names_of(const std::vector<Option>& options);
std::vector<std::string> names_of(const std::vector<Spec>& specs);

}  // namespace ddp::config
