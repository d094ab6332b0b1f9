#pragma once

#include <string_view>

namespace ddp::tables {

// Is each quoted cell of these whole rows in one line and without a quote inside? False also for a quote within an
// unquoted cell. If the quotes are simple, each line break ends a row.
bool has_simple_quotes(std::string_view rows, char delimiter);

}  // namespace ddp::tables
