#pragma once

#include <cstddef>

namespace ddp::launch {

// Is stderr a terminal that can show lines that change? Not with NO_COLOR set, nor with --quiet.
bool wants_live_line();

// Columns of stderr's terminal; 80 where it does not say.
std::size_t terminal_width();

}  // namespace ddp::launch
