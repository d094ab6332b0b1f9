#pragma once

#include <cstddef>

namespace ddp::launch {

// Returns whether stderr is a terminal that can redraw lines. Not with NO_COLOR or --quiet.
bool wants_live_line();

// The width of stderr's terminal in columns; 80 if unknown.
std::size_t terminal_width();

}  // namespace ddp::launch
