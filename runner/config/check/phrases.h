#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/option/option.h"
#include "config/suggest.h"

namespace ddp::config {

// Describes the values of an option: "an integer of at least 1", `one of "ddp", "single"`, "a list of 2 numbers".
std::string expected(const Option& option);

// Is this a number with a decimal comma, such as "-0,1"?
bool is_decimal_comma(std::string_view text);

std::vector<std::string> names_of(const std::vector<Option>& options);
std::vector<std::string> names_of(const std::vector<Spec>& specs);

}  // namespace ddp::config
