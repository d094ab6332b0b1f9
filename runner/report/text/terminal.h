#pragma once

#include <cstddef>

namespace ddp::report {

// The abilities of the terminal behind stdout or stderr.
struct Terminal {
  std::size_t width = 80;  // in columns
  bool cuts = false;       // cut longer lines, which would be wrapped; false if the output is not a terminal
  bool utf8 = true;
  bool colour = false;
};

Terminal terminal_of_stdout();
Terminal terminal_of_stderr();

}  // namespace ddp::report
