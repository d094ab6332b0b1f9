#pragma once

#include <cstddef>
#include <string>

namespace ddp::launch {

// Is stderr a terminal that can show lines that change? Not with NO_COLOR set.
bool wants_live_line();

// Columns of stderr's terminal; 80 where it does not say.
std::size_t terminal_width();

// The line's first so many columns, whole characters of UTF-8, each taken to be one wide.
std::string clipped(const std::string& line, std::size_t columns);

// "1:05", "2:03:04"
std::string duration(double seconds);

}  // namespace ddp::launch
