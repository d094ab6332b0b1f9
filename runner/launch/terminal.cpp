#include "launch/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ddp::launch {

bool wants_live_line() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string(term) != "dumb");
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  char text[48];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  }
  return text;
}

std::string clipped(const std::string& line, std::size_t columns) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;
    if (begins && shown++ == columns) return line.substr(0, i);
  }
  return line;
}

}  // namespace ddp::launch
