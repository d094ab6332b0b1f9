#include "launch/process/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <cstdlib>
#include <string>

#include "base/log.h"

namespace ddp::launch {

bool wants_live_line() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return log::verbosity() != log::Verbosity::quiet && isatty(STDERR_FILENO) &&
         (no_color == nullptr || *no_color == '\0') && (term == nullptr || std::string(term) != "dumb");
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace ddp::launch
