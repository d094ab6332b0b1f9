#pragma once

#include <cstddef>

namespace ddp::report {

// The abilities of the terminal behind stdout or stderr.
struct Terminal {
  std::size_t width = 80;  // in columns
  bool cuts = false;       // a line that is longer would be wrapped; what is no terminal takes lines of any length
  bool utf8 = true;
  bool colour = false;
};

Terminal terminal_of_stdout();
Terminal terminal_of_stderr();

}  // namespace ddp::report
