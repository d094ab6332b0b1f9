#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddp::report {

// Returns the lines of a confusion matrix with aligned columns: a line for each right class, with its name if `names`
// has one for each class.
std::string in_lines(const std::vector<std::vector<std::int64_t>>& matrix, const std::vector<std::string>& names);

}  // namespace ddp::report
